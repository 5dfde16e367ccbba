"""What needs somebody, and what failed and why: on the overview, in the list of sends, on a send and among dead letters. Each waits for states of the
page alone."""

import copy
import json
import secrets

# What an overview says where all is well.
WELL = {
    "at": "2026-11-28T08:00:00.000Z", "sends": {"items": [], "isComplete": True}, "rate": {}, "broker": "connected",
    "queues": [{"name": name, "paused": False, "pauses": [], "waiting": 0} for name in ("register", "send", "deliver.apns", "deliver.fcm")],
    "processes": {"isComplete": True, "items": [
        {"id": role, "role": role, "state": "running", "host": "a", "pid": 1, "silentSeconds": 1, "breakers": [], "refusals": [], "credentials": []}
        for role in ("api", "register-worker", "send-worker", "delivery-worker")]},
    "dead": {"count": 0, "isComplete": True}, "ended": {"expired": 0, "abandoned": 0, "since": "2026-11-27T08:00:00.000Z"},
    "space": {"store": 1, "log": 1, "free": 10**11},
}

FCM_FAILS = "FCM fails: 503 UNAVAILABLE"


def changed(path, value):
    """The overview with another value at a path; a queue or a process is named by its name or role."""
    whole = copy.deepcopy(WELL)
    place = whole
    *steps, last = path.split("/")
    for step in steps:
        place = place[step] if isinstance(place, dict) else next(item for item in place if step in (item.get("name"), item.get("role")))
    place[last] = value
    return whole


# What is wrong, and the words that are to be said of it; None: nothing is.
CASES = [
    (WELL, None),
    (changed("queues/send/oldestSeconds", 119), None),
    (changed("queues/send/oldestSeconds", 125), "New sends are not getting through: In the queue send the oldest work has waited 2 min 05 s."),
    (changed("queues/register/oldestSeconds", 3700), "Changes of registrations are not getting through: In the queue register the oldest work has waited 1 h 01 min."),
    (changed("queues/deliver.fcm/delayed", {"seconds": 59, "reason": FCM_FAILS}), None),
    (changed("queues/deliver.fcm/delayed", {"seconds": 190, "reason": FCM_FAILS}),
     f"Sends to FCM are held up: {FCM_FAILS}. It is tried again by itself; in the queue deliver.fcm the oldest work has waited 3 min 10 s."),
    (changed("queues/deliver.fcm/pauses", [{"allApps": True, "since": "2026-11-28T07:00:00.000Z"}]), "deliver.fcm is paused: for all apps, for 1 h 00 min"),
    (changed("processes/items/delivery-worker/breakers", [{"service": "fcm", "reason": FCM_FAILS}]), f"Nothing is being sent to FCM: {FCM_FAILS}."),
    (changed("processes/items/delivery-worker/refusals", [{"service": "apns", "credential": "b", "reason": "InvalidProviderToken", "since": WELL["at"]}]),
     "APNs refuses the credential b: Since "),
    (changed("processes/items/send-worker/state", "unknown"), "No send worker is running: "),
    (changed("processes/isComplete", False), "Nothing is known that needs you: "),
    (changed("broker", "disconnected"), "There is no connection to the broker: "),
    (changed("ended/expired", 2), "2 sends expired: In the last 24 hours: "),
    (changed("ended/abandoned", 1), "1 send abandoned: In the last 24 hours: "),
    (changed("dead/count", 1), "1 dead letter: "),
    (changed("space/free", 10**9), "1.0 GB of disk left: "),
]

SAID = ("(await import(new URL('trouble.js', location.href))).trouble(arguments[0])"
        ".map(({ what, why, place, todo }) => [`${what}: ${why}`, place === undefined || todo !== undefined])")


def says_what_needs_somebody(console):
    """Each thing that is wrong is said, with its age and reason, and "Nothing needs you" where nothing is, alone."""
    for overview, wanted in CASES:
        said = console.value(SAID, overview)
        assert len(said) == 1 and said[0][1] and said[0][0].startswith(wanted or "Nothing needs you: "), (wanted, said)
    slow = changed("queues/deliver.fcm/oldestSeconds", 700)
    slow["rate"] = {"fcm": 2500}
    said = console.value(SAID, slow)
    assert said[0][0].startswith("Sends to FCM are slow: ") and "2,500 devices a second" in said[0][0], said
    # Of a service whose breaker is open, with how long its work waits, and not of its queue once more.
    both = changed("processes/items/delivery-worker/breakers", [{"service": "fcm", "reason": FCM_FAILS}])
    both["queues"][3]["delayed"] = {"seconds": 190, "reason": FCM_FAILS}
    said = console.value(SAID, both)
    assert len(said) == 1 and said[0][0].endswith("what is to go there waits, the oldest for 3 min 10 s."), said
    # A send that waits for a service which is paused is no queue that is stuck; all that is paused at once is said once.
    one = changed("queues/send/oldestSeconds", 700)
    pause = [{"allApps": False, "by": "boss", "since": "2026-11-28T07:00:00.000Z"}]
    one["queues"][3] |= {"paused": True, "pauses": pause}
    said = console.value(SAID, one)
    assert len(said) == 1 and said[0][0] == "deliver.fcm is paused: by boss, for 1 h 00 min", said
    for queue in one["queues"][1:]:
        queue |= {"paused": True, "pauses": pause, "waiting": 2}
    said = console.value(SAID, one)
    assert len(said) == 1 and said[0][0] == "All sends of this app are paused: by boss, for 1 h 00 min, and 6 pieces of work wait", said


# What would be lost by cancelling a send that has not found its devices: of how many more it is told, or not.
LOSS = "(await import(new URL('stopping.js', location.href))).loss(arguments[0], '').words.join(' ')"


def says_what_a_cancel_loses(console):
    """The numbers are those of the devices that were found, and it says so where there are others."""
    counts = {"targets": 1800, "accepted": 460, "failed": {}, "expired": 0, "cancelled": 0}
    job = {"state": "running", "recipients": {"kind": "all"}, "totals": counts, "fannedOut": 1800}
    said = console.value(LOSS, job)
    assert "It has found 1,800 devices so far: about 1,340 of them would not get it, and none of those" in said, said
    said = console.value(LOSS, job | {"estimate": 3000})
    assert "About 2,540 devices would not get it" in said and "found" not in said, said


def row(job):
    return f"#main tr[data-key='{job}']"


def expires(console, environment):
    """A send whose service fails says why it is tried again, expires, and is found among those with failures."""
    token = f"flaky{secrets.token_hex(8)}:APA91b{secrets.token_hex(24)}"
    call, simulator = environment["call"], environment["PUSHLINE_SIMULATOR_URL"]
    call("POST", "/faults", json.dumps({"service": "fcm", "token": token, "count": 1000, "status": 503}), url=simulator)
    device = {"service": "fcm", "handle": token, "tags": ["flaky"]}
    call("POST", "/api/registrations/import", json.dumps(device), "application/x-ndjson")
    job = environment["send"]({"to": {"tag": "flaky"}, "body": "in vain", "label": "flaky", "ttl": 20})
    console.go("sends?label=flaky")
    console.until(f"/retrying[^]*FCM/.test(document.querySelector({json.dumps(row(job))})?.innerText)")
    console.go("")
    console.until("/tries again[^]*FCM/.test(document.querySelector(\"#main tr[data-key='deliver.fcm']\")?.innerText)")
    console.go(f"sends/{job}")
    console.until("document.getElementById('state').textContent === 'expired'")
    console.shows("before 1 device had a turn", "#failures")
    console.until("/FCM[^]*expired[^]*1/.test(document.querySelector('#failures tr[data-key]')?.innerText)")
    console.go("")
    console.shows("1 send expired")
    console.press("all expired sends")
    console.until(f"document.querySelector({json.dumps(row(job))}) !== null")
    console.go("sends?failures=true")
    console.until(f"document.querySelector({json.dumps(row(job))})?.innerText.includes('1 expired') === true")
    assert not console.has("Cancel all that match …"), "more than what is listed could be cancelled"
    console.go("sends?failures=true&label=waiting")
    console.shows("No send matches")
    return job


def follows_a_letter(console, reason):
    """From a dead letter to its send, which says that it was abandoned and why, and back."""
    console.press("Show letters: " + reason)
    console.until("document.querySelector('#letters a[href^=\"#/sends/\"]') !== null")
    job = console.value("document.querySelector('#letters a[href^=\"#/sends/\"]').hash.split('/')[2]")
    assert reason in console.text("#letters tbody")
    console.go(f"sends/{job}")
    console.shows("It was abandoned, and no device got it: ", "#failures")
    console.until("[...document.querySelectorAll('#failures tr[data-key]')].some(row => row.innerText.includes(arguments[0]))", reason)
    console.browser.run("document.querySelector('#failures a[href^=\"#/dead\"]').click();")
    console.shows(f"Of the send {job}")
    assert len(console.value("[...document.querySelectorAll('#letters tbody tr')].map(row => row.dataset.key)")) == 1
    console.press("← The send")
    console.until("document.getElementById('state')?.textContent === 'abandoned'")
    console.go("")
    console.shows("sends abandoned")
    console.go("dead")
