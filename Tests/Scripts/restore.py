"""The load of Tests/Scripts/restore.sh, and what must hold afterwards.

prepare: devices. load: sends and registrations until SIGTERM. await-load: returns when the load is under way. judge: after a restore.
judge-stopped: after one with --stop-unfinished.
"""

import collections
import datetime
import hashlib
import json
import os
import pathlib
import random
import signal
import sys
import threading
import time
import urllib.error
import urllib.request

RUN = pathlib.Path(sys.argv[1]) / "run"
URL, KEY, SIMULATOR = (os.environ[name] for name in ("PUSHLINE_URL", "PUSHLINE_KEY", "SIMULATOR_URL"))
USERS = 400
GROUPS = 5
# Sends that are accepted before the backup is made.
SENDS = 150
# Seconds that a restored installation may take for all that was under way.
PATIENCE = 90
# Seconds without a push that show that nothing goes out.
SILENCE = 5


class Wrong(Exception):
    """Something does not hold; its text is for the reader."""


def ask(method, path, body=None, kind="application/json", base=URL, timeout=30):
    """The status and the text of an answer."""
    request = urllib.request.Request(base + path, method=method, data=body if body is None else body.encode())
    request.add_header("Authorization", f"Bearer {KEY}")
    request.add_header("Content-Type", kind)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def demand(status, method, path, *arguments, **options):
    """The text of an answer that must have that status."""
    found, text = ask(method, path, *arguments, **options)
    if found != status:
        raise Wrong(f"{method} {path} was answered {found}: {text[:300]}")
    return text


# ---- Devices ----


def handle(pns, owner):
    digest = hashlib.sha256(f"{pns} {owner}".encode()).hexdigest()
    return digest if pns == "apns" else f"{digest[:22]}:APA91b{digest * 2}"[:152]


def devices(number):
    """Of a user who never changes any: each has one at APNs, every second one more at FCM."""
    services = ["apns", "fcm"] if number % 2 == 0 else ["apns"]
    return [(pns, handle(pns, number)) for pns in services]


def devices_of(numbers):
    return [device for number in numbers for device in devices(number)]


def prepare():
    lines = [
        json.dumps({"service": pns, "handle": token, "user": f"user{number}", "tags": ["all", f"group-{number % GROUPS}"]})
        for number in range(USERS)
        for pns, token in devices(number)
    ]
    demand(200, "POST", "/api/registrations/import", "\n".join(lines), "application/x-ndjson")
    # Answers that take their time, and devices that are to be tried again: something is under way whenever one looks.
    faults = [{"action": "delay", "latency": 400}, {"share": 0.05, "service": "apns", "status": 503, "retryAfter": 2}]
    demand(201, "POST", "/faults", json.dumps(faults), base=SIMULATOR)


# ---- Load ----


class Load:
    """What was accepted is a line of JSON each: when it was asked for and answered, and to whom it goes."""

    def __init__(self):
        self.lock = threading.Lock()
        self.log = (RUN / "accepted.jsonl").open("w")
        self.is_running = True
        self.count = 0
        self.error = None

    def run(self):
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "is_running", False))
        works = [self._send] * 3 + [self._register]
        threads = [threading.Thread(target=self._guard, args=work) for work in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.log.close()
        if self.error:
            raise Wrong(f"the load: {self.error}")

    def _guard(self, seed, work):
        chance = random.Random(seed)
        try:
            while self.is_running:
                work(chance)
                time.sleep(chance.uniform(0, 0.1))
        except (Wrong, OSError) as error:
            self.error, self.is_running = error, False

    def _marker(self):
        with self.lock:
            self.count += 1
            return f"drill-{self.count}"

    def _note(self, began, **members):
        line = json.dumps({"began": began, "answered": time.time(), **members})
        with self.lock:
            print(line, file=self.log, flush=True)

    def _send(self, chance):
        chance.choice([self._one, self._one, self._group, self._group, self._campaign, self._list, self._later])(chance)

    def _post(self, to, expected, **members):
        marker, began = self._marker(), time.time()
        body = json.dumps({"title": marker, "body": "drill", "to": to, **members})
        job = json.loads(demand(202, "POST", "/api/sends", body))["id"]
        self._note(began, send=marker, job=job, to=expected)

    def _one(self, chance):
        number = chance.randrange(USERS)
        self._post({"user": f"user{number}"}, devices(number))

    def _group(self, chance):
        """Sends that are accepted together share a message."""
        numbers = [chance.randrange(USERS) for _ in range(chance.randrange(2, 20))]
        markers, began = [self._marker() for _ in numbers], time.time()
        lines = [json.dumps({"title": marker, "body": "drill", "to": {"user": f"user{number}"}}) for marker, number in zip(markers, numbers)]
        text = demand(200, "POST", "/api/sends/batch", "\n".join(lines), "application/x-ndjson")
        for answer, marker, number in zip(map(json.loads, text.splitlines()), markers, numbers):
            if answer["status"] != 202:
                raise Wrong(f"a line was answered {answer}")
            self._note(began, send=marker, job=answer["id"], to=devices(number))

    def _campaign(self, chance):
        group = chance.randrange(GROUPS)
        self._post({"tags": f"all && group-{group}"}, devices_of(range(group, USERS, GROUPS)))

    def _list(self, chance):
        listed = [("apns", handle("apns", f"unknown {chance.random()}")) for _ in range(chance.randrange(1, 150))]
        self._post({"handles": [{"service": pns, "handle": token} for pns, token in listed]}, listed)

    def _later(self, chance):
        """Soon, so that its time comes before the restore; or long behind it."""
        number, wait = chance.randrange(USERS), chance.choice([1, 3, 3600])
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=wait)
        expected = [] if wait == 3600 else devices(number)
        self._post({"user": f"user{number}"}, expected, at=at.isoformat().replace("+00:00", "Z"))

    def _register(self, chance):
        number, began = self._marker(), time.time()
        body = json.dumps({"service": "apns", "handle": handle("apns", number), "user": "newcomer", "tags": ["new"]})
        demand(200, "PUT", f"/api/registrations/{number}", body)
        self._note(began, registration=number)


def await_load():
    end = time.monotonic() + PATIENCE
    while len(accepted()) < SENDS:
        if time.monotonic() > end:
            raise Wrong("the load does not get under way")
        time.sleep(0.1)


def accepted():
    file = RUN / "accepted.jsonl"
    # The last line may be half of one while the load goes on.
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


# ---- Afterwards ----


def pushes():
    """What arrived, by service, token and title: the ids of the copies."""
    found, since = collections.defaultdict(list), 0
    while True:
        lines = demand(200, "GET", f"/deliveries?since={since}&limit=1000", base=SIMULATOR).splitlines()
        for push in map(json.loads, lines):
            since = push["index"] + 1
            found[push["service"], push["token"], push["marker"]].append(push["id"])
        if len(lines) < 1000:
            return found


def job(send):
    status, text = ask("GET", f"/api/jobs/{send['job']}")
    return json.loads(text) if status == 200 else None


class Accepted:
    """What was accepted, by when: before the backup began, after it had ended, or while it was made."""

    def __init__(self):
        lines = accepted()
        begins, ends = (float((RUN / f"backup-{name}").read_text()) for name in ("begins", "ends"))
        self.registrations = [line["registration"] for line in lines if "registration" in line and line["answered"] < begins]
        sends = [line for line in lines if "send" in line]
        self.before = [send for send in sends if send["answered"] < begins]
        self.after = [send for send in sends if send["began"] > ends]
        self.between = [send for send in sends if send["answered"] >= begins and send["began"] <= ends]


def await_ends(sends):
    """Waits until jobs are final."""
    end = time.monotonic() + PATIENCE
    while sends := [send for send in sends if not (job(send) or {}).get("isFinal")]:
        if time.monotonic() > end:
            raise Wrong(f"{len(sends)} accepted sends do not end, such as {sends[0]['job']}")
        time.sleep(0.3)


def judge():
    all_of_it, said = Accepted(), json.loads((RUN / "restored.json").read_text())["unfinished"]
    if said["sends"] == 0:
        raise Wrong("nothing was under way when the backup was made: the drill has shown nothing")
    demand(204, "DELETE", "/faults", base=SIMULATOR)
    kept = all_of_it.before + [send for send in all_of_it.between if job(send)]
    due = [send for send in kept if send["to"]]
    await_ends(due)
    for send in due:
        found = job(send)
        totals = found["totals"]
        if found["state"] != "completed" or totals["accepted"] != len(send["to"]) or totals["targets"] != len(send["to"]):
            raise Wrong(f"{send['send']} to {len(send['to'])} devices is {found['state']} with {totals}")
    for send in kept:
        if not send["to"] and job(send)["state"] != "scheduled":
            raise Wrong(f"{send['send']} is scheduled for later, and is {job(send)['state']}")
    if gone := [send["send"] for send in all_of_it.after if job(send)]:
        raise Wrong(f"sends that were accepted after the backup are there: {gone[:3]}")
    exported = {json.loads(line)["id"] for line in demand(200, "GET", "/api/registrations/export").splitlines()}
    if lost := set(all_of_it.registrations) - exported:
        raise Wrong(f"registrations are lost: {sorted(lost)[:3]}")
    again, sends_again = judge_pushes(due)
    limit = said["devices"] + said["lookingUp"] * len(devices_of(range(USERS)))
    if sends_again > said["sends"] or again > limit:
        raise Wrong(f"{again} devices got a push of {sends_again} sends once more, and restore said {said}")
    (RUN / "figures").write_text(
        f"restored: {len(kept)} sends, {len(all_of_it.before)} of them accepted before the backup began: none of these is lost, and no "
        f"registration of {len(all_of_it.registrations)}; {said['sends']} were under way, to {said['devices']} devices and whom "
        f"{said['lookingUp']} had yet to look up; {again} devices got a push once more, each with the same id"
    )


def judge_pushes(due):
    """How many devices got a push once more, and of how many sends."""
    arrived = pushes()
    for send in due:
        for pns, token in send["to"]:
            if not arrived.get((pns, token, send["send"])):
                raise Wrong(f"{send['send']} did not reach {pns} {token[:8]}…")
    titles = {send["send"] for send in due}
    again = {key: ids for key, ids in arrived.items() if len(ids) > 1}
    for (pns, token, title), ids in again.items():
        what = f"{title} at {pns} {token[:8]}…"
        if len(ids) > 2:
            raise Wrong(f"{what} came {len(ids)} times")
        if title not in titles:
            raise Wrong(f"{what} came twice, and was not in the backup")
        if ids[0] != ids[1]:
            raise Wrong(f"{what} came as {ids[0]} and as {ids[1]}")
    return len(again), len({title for _, _, title in again})


def judge_stopped():
    all_of_it, said = Accepted(), json.loads((RUN / "stopped.json").read_text())["unfinished"]
    before = sum(map(len, pushes().values()))
    body = json.dumps({"title": "afterwards", "body": "drill", "to": {"user": "user0"}})
    sent = {"job": json.loads(demand(202, "POST", "/api/sends", body))["id"]}
    await_ends([sent])
    time.sleep(SILENCE)
    arrived = pushes()
    if sum(map(len, arrived.values())) != before + len(devices(0)):
        raise Wrong("something of the backup went out, though it was stopped")
    if any((*device, "afterwards") not in arrived for device in devices(0)):
        raise Wrong("a send after the restore did not arrive")
    states = collections.Counter((job(send) or {"state": "missing"})["state"] for send in all_of_it.before)
    cancelled = len(json.loads(demand(200, "GET", "/api/jobs?state=cancelled&limit=1000"))["items"])
    if cancelled != said["sends"] or not said["stopped"]:
        raise Wrong(f"{cancelled} sends are cancelled, and restore said {said}")
    if others := set(states) - {"completed", "cancelled", "scheduled"}:
        raise Wrong(f"sends that were accepted before the backup are {', '.join(sorted(others))}")
    with (RUN / "figures").open("a") as figures:
        figures.write(f"; with --stop-unfinished {cancelled} sends were cancelled, and nothing of them went out")


COMMANDS = {"prepare": prepare, "load": lambda: Load().run(), "await-load": await_load, "judge": judge, "judge-stopped": judge_stopped}

if __name__ == "__main__":
    try:
        COMMANDS[sys.argv[2]]()
    except Wrong as wrong:
        sys.exit(f"restore: {wrong}")
