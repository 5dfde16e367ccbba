"""What must hold in the end, from the store's rows and from what the push services accepted."""

import collections
import json
import re
import sqlite3
import time
import urllib.parse

FINAL = 10
CONDEMNED = "its message could not be worked on"
TARGETS, ACCEPTED, DEAD = 0, 1, 15
# Numbers above are places in a send's list, those below rows of registrations.
PLACES = 1 << 48


class Verdict:
    def __init__(self, installation, load, witness):
        self.installation = installation
        self.load = load
        self.witness = witness
        self.faults = []
        self.lost = 0
        self.counted_twice = 0
        self.duplicates = 0
        self.stuck = 0
        # Sends and devices that were begun six times, and ended a process each time: they are kept as dead, to be replayed (rule 5).
        self.condemned = 0

    def _rows(self, sql, *values):
        path = urllib.parse.quote(str(self.installation.store))
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            return database.execute(sql, values).fetchall()
        finally:
            database.close()

    def unfinished(self):
        return self._rows("SELECT count(*) FROM job WHERE state < ?", FINAL)[0][0]

    def await_end(self, seconds, say):
        """Waits until no job is unfinished."""
        end = time.monotonic() + seconds
        last = None
        while True:
            left = self.unfinished()
            if left == 0 or time.monotonic() > end:
                return
            if left != last:
                say(f"  {left} jobs are unfinished")
                last = left
            time.sleep(2)

    # ---- The questions ----

    def find(self):
        jobs = self._rows("SELECT sequence, id, kind, state, work, reason FROM job")
        self.markers = {}
        by_id = {}
        copies = collections.Counter()
        self.reasons = {sequence: reason for sequence, _, _, _, _, reason in jobs}
        for sequence, blob, _, state, work, reason in jobs:
            by_id[_text(blob)] = (sequence, state)
            if state < FINAL:
                self.stuck += 1
                self.faults.append(f"job {_text(blob)} is stuck in state {state} ({reason})")
            found = re.search(r'"title":"(c\d+)"', work)
            if found:
                self.markers[sequence] = found.group(1)
                copies[found.group(1)] += 1
        for marker, count in copies.items():
            if count > 1:
                self.counted_twice += count - 1
                self.faults.append(f"{marker} was accepted as {count} jobs")
        self._answered(by_id)
        self._counts(by_id)
        self._devices()
        self._registrations()
        return self

    def _answered(self, by_id):
        for marker, send in self.load.sends.items():
            if send["id"] and send["id"] not in by_id:
                self.lost += 1
                self.faults.append(f"{marker} was accepted as job {send['id']}, and is no job")

    def _counts(self, by_id):
        counts = collections.defaultdict(collections.Counter)
        for job, kind, count in self._rows("SELECT job, class, count FROM job_counts"):
            counts[job][kind] += count
        for job, classes in counts.items():
            rest = sum(count for kind, count in classes.items() if kind != TARGETS)
            name = self.markers.get(job, job)
            if classes[TARGETS] > rest:
                self.lost += classes[TARGETS] - rest
                self.faults.append(f"{name}: {classes[TARGETS]} targets and {rest} outcomes")
            elif rest > classes[TARGETS]:
                self.counted_twice += rest - classes[TARGETS]
                self.faults.append(f"{name}: {classes[TARGETS]} targets and {rest} outcomes")
            self.condemned += classes[DEAD]
        for marker, send in self.load.sends.items():
            if not send["id"] or send["id"] not in by_id or send["expected"] is None:
                continue
            sequence, state = by_id[send["id"]]
            targets = counts[sequence][TARGETS]
            # One that was fanned out in part keeps its outcomes, and a replay goes on where it was left.
            if state in (10, 11) and self.reasons.get(sequence) == CONDEMNED and targets <= send["expected"]:
                self.condemned += 1
                continue
            if send.get("must_arrive") and counts[sequence][ACCEPTED] < send["expected"]:
                self.lost += send["expected"] - counts[sequence][ACCEPTED]
                self.faults.append(f"{marker}: {counts[sequence][ACCEPTED]} of {send['expected']} devices reached, with nothing wrong")
                continue
            # Of a send that was stopped, what was in no batch is no target.
            if targets > send["expected"]:
                self.counted_twice += targets - send["expected"]
                self.faults.append(f"{marker}: {targets} targets where there are {send['expected']} devices")
            elif targets < send["expected"] and state in (10, 11):
                self.lost += send["expected"] - targets
                self.faults.append(f"{marker}: {targets} targets where there are {send['expected']} devices")

    def _devices(self):
        """Every device that was counted against what the services accepted."""
        names = {1: "apns", 2: "fcm", 3: "wns"}
        handles = {row: (names.get(pns), handle) for row, pns, handle in self._rows("SELECT row, pns, handle FROM registration")}
        accepted, counted = set(), set()
        for job, row, kind in self._rows("SELECT job, row, class FROM delivery"):
            if (job, row) in counted:
                self.counted_twice += 1
                self.faults.append(f"{self.markers.get(job, job)}: device {row} is counted twice")
            counted.add((job, row))
            if kind != ACCEPTED or job not in self.markers:
                continue
            marker = self.markers[job]
            device = self.load.sends[marker]["listed"][row - PLACES - 1] if row > PLACES else handles.get(row, (None, None))
            key = (*device, marker)
            accepted.add(key)
            if key not in self.witness.seen:
                self.lost += 1
                self.faults.append(f"{key[2]}: a device at {key[0]} is counted as accepted, and {key[0]} has seen nothing")
        for key, ids in self.witness.seen.items():
            if not re.fullmatch(r"c\d+", key[2] or ""):
                continue
            self.duplicates += len(ids) - (1 if key in accepted else 0)
            # The other services know no id; what remains of a time to live is in FCM's body.
            if key[0] == "apns" and len(set(ids)) > 1:
                self.faults.append(f"{key[2]}: copies to one device at {key[0]} carry different ids: {sorted(set(ids))}")
        self.accepted = len(accepted)

    def _registrations(self):
        for name, (registration, generation) in self.load.registers.items():
            tags = {
                tag
                for (tag,) in self._rows(
                    "SELECT name FROM registration, json_each(tags) AS listed JOIN tag_name ON number = listed.value "
                    "JOIN tagged ON tagged.tag = number AND tagged.pns = registration.pns AND tagged.row = registration.row "
                    "WHERE registration.id = ?",
                    registration,
                )
            }
            if f"v{generation}" not in tags:
                self.lost += 1
                self.faults.append(f"{name}: was registered with v{generation}, and has {sorted(tags)}")


def _text(blob):
    text = blob.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def summary(counts):
    return json.dumps(dict(sorted(counts.items())))
