"""What a backend does with the client that openapi-generator makes for Python: sends, waits, lists, and reads a refusal."""

import os

import pushline_client as pushline

configuration = pushline.Configuration(
    host=os.environ["PUSHLINE_URL"] + "/api/apps/default", access_token=os.environ["PUSHLINE_SENDER_KEY"]
)
with pushline.ApiClient(configuration) as client:
    sends, jobs = pushline.SendsApi(client), pushline.JobsApi(client)
    everything = pushline.Send(
        to=pushline.Audience(tags="news || !news"),
        title="Sale",
        data={"page": "7"},
        services=[pushline.Service.APNS, pushline.Service.FCM],
        priority="high",
        label="clients-python",
        apns=pushline.SendApns(ttl=60),
        native=pushline.Native(fcm={"message": {"data": {"order": "7"}}}),
    )
    job = sends.send(everything, prefer="wait=30")
    assert job.state == pushline.JobState.COMPLETED, job
    assert job.totals.targets > 1 and job.totals.open == 0, job.totals

    started = sends.send(pushline.Send(to=pushline.Audience(user="bob"), body="Later", label="clients-python"))
    assert started.id != job.id and not started.is_final, started
    for line in jobs.watch_job(started.id).splitlines():
        assert not line.startswith("event:") or line == "event: job", line
    assert jobs.get_job(started.id).is_final

    listed = jobs.list_jobs(label="clients-python", limit=1)
    assert [item.id for item in listed.items] == [started.id] and listed.cursor, listed
    following = jobs.list_jobs(label="clients-python", limit=1, cursor=listed.cursor)
    assert [item.id for item in following.items] == [job.id], following

    lines = "".join(pushline.Send(to=pushline.Audience(user=name), body="b").to_json() + "\n" for name in ["bob", "alice"])
    answer = sends.send_lines(lines)
    assert answer.count(b"\"status\":202") == 2, answer

    try:
        sends.send(pushline.Send(to=pushline.Audience(user="bob"), title="t", link="https://a.example/", data={"link": "x"}))
        raise AssertionError("what is wrong was taken")
    except pushline.ApiException as refusal:
        assert refusal.status == 400 and refusal.data.errors[0].member == "data.link", refusal
    try:
        jobs.get_job("00000000-0000-0000-0000-000000000000")
        raise AssertionError("a job that is not there was shown")
    except pushline.exceptions.NotFoundException as refusal:
        assert refusal.data.detail == "no such job", refusal
print("done: Python")
