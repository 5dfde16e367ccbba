"""What must hold in the end, from the store's rows and from what the push services accepted."""

import collections
import json
import re
import time

import azure

FINAL = 10
# Of what there may be very much of, so much is spelled out.
EXAMPLES = 8
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
        # Of each device that a push came to more often than it is counted as accepted: whether it is.
        self.repeated = []
        self.stuck = 0
        # Sends and devices that were begun six times, and ended a process each time: they are kept as dead, to be replayed (rule 5).
        self.condemned = 0

    def rows(self, sql, *values):
        return self.installation.store.rows(sql, *values)

    def unfinished(self):
        return self.rows("SELECT count(*) FROM job WHERE state < ?", FINAL)[0][0]

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
        jobs = self.rows("SELECT sequence, id, kind, state, label, reason FROM job")
        self.markers = {}
        by_id = {}
        copies = collections.Counter()
        self.reasons = {sequence: reason for sequence, _, _, _, _, reason in jobs}
        for sequence, blob, _, state, label, reason in jobs:
            by_id[_text(blob)] = (sequence, state)
            if state < FINAL:
                self.stuck += 1
                if self.stuck <= EXAMPLES:
                    self.faults.append(f"job {_text(blob)} is stuck in state {state} ({reason})")
            if label in self.load.sends:
                self.markers[sequence] = label
                copies[label] += 1
        if self.stuck:
            self.faults += self._waiting()
        for marker, count in copies.items():
            if count > 1:
                self.counted_twice += count - 1
                self.faults.append(f"{marker} was accepted as {count} jobs")
        self._answered(by_id)
        self._counts(by_id)
        self._devices()
        self._natives()
        self._registrations()
        self.calls = azure.judge(self)
        return self

    def _waiting(self):
        """What is left in the outbox, by kinds: what stuck jobs wait for."""
        kinds = self.rows(
            "SELECT queue, priority, app, state, blocked_on, reason, count(*), min(due), max(redeliveries), max(epoch) FROM message "
            "GROUP BY queue, priority, app, state, blocked_on, reason ORDER BY 7 DESC"
        )
        names = "queue, priority, app, state, blocked on, reason, how many, due first, redeliveries, epoch"
        return [f"left in the outbox ({names}): {kind}" for kind in kinds[:EXAMPLES]]

    def read_back(self):
        """Compares the devices that were registered on behalf of users with the last changes that were acknowledged; while all is well."""
        client = self.load.client(self.installation.sender_key)
        for wards in self.load.wards:
            lost, doubled = wards.read_back(client)
            self.lost += len(lost)
            self.counted_twice += len(doubled)
            self.faults += lost + doubled
        client.close()

    def _answered(self, by_id):
        for marker, send in self.load.sends.items():
            if send["id"] and send["id"] not in by_id:
                self.lost += 1
                self.faults.append(f"{marker} was accepted as job {send['id']}, and is no job")

    def _counts(self, by_id):
        counts = collections.defaultdict(collections.Counter)
        for job, kind, count in self.rows("SELECT job, class, count FROM job_counts"):
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
        # Those of wards change; which one it was then nobody notes.
        former = {item: devices for wards in self.load.wards for item, devices in wards.devices.items()}
        rows = self.rows('SELECT "row", id, pns, handle FROM registration')
        devices = {row: former.get(item, {(names.get(pns), handle)}) for row, item, pns, handle in rows}
        arrived, counted = [], collections.defaultdict(set)
        for job, pns, row, kind in self.rows('SELECT job, pns, "row", class FROM delivery'):
            if pns in counted[job, row]:
                self.counted_twice += 1
                self.faults.append(f"{self.markers.get(job, job)}: device {row} is counted twice at {names[pns]}")
            counted[job, row].add(pns)
            if kind != ACCEPTED or job not in self.markers:
                continue
            marker = self.markers[job]
            listed = self.load.sends[marker]["listed"]
            known = [listed[row - PLACES - 1]] if row > PLACES else devices.get(row, ())
            keys = [(*device, marker) for device in known if device[0] == names[pns]]
            if seen := [key for key in keys if key in self.witness.seen]:
                arrived.append(seen)
            else:
                self.lost += 1
                self.faults.append(f"{marker}: device {row} is counted as accepted, and {names[pns]} has seen nothing")
        accepted = self._matched(arrived)
        # An audience is read service by service: whoever moves meanwhile to another one may be met at both.
        self.moved = sum(1 for services in counted.values() if len(services) > 1)
        for (job, row), services in counted.items():
            if len(services) > 1 and row in devices and len({pns for pns, _ in devices[row]}) < len(services):
                self.counted_twice += 1
                self.faults.append(f"{self.markers.get(job, job)}: device {row} is counted at services that it never was at")
        moving = set().union(*former.values())
        for key, ids in self.witness.seen.items():
            if not re.fullmatch(r"c\d+", key[2] or ""):
                continue
            more = max(0, len(ids) - accepted.get(key, 0))
            self.duplicates += more
            if more:
                self.repeated.append(key in accepted)
            # The other services know no id; what remains of a time to live is in FCM's body.
            # A handle of wards may have moved to another registration since the copy before.
            if key[0] == "apns" and key[:2] not in moving and len(set(ids)) > 1:
                self.faults.append(f"{key[2]}: copies to one device at {key[0]} carry different ids: {sorted(set(ids))}")
        self.accepted = accepted

    def _matched(self, arrived):
        """How many devices that are counted as accepted each message to a handle is for.

        A device of wards has had several handles, and a handle several devices; which it was then nobody notes. So each device gets a copy
        that no other has, as far as that is possible at all.
        """
        owners = collections.defaultdict(list)

        def place(keys, tried):
            for key in keys:
                if key in tried:
                    continue
                tried.add(key)
                if len(owners[key]) < len(self.witness.seen[key]):
                    owners[key].append(keys)
                    return True
                for number, other in enumerate(owners[key]):
                    if place(other, tried):
                        owners[key][number] = keys
                        return True
            return False

        # Who has no choice comes first.
        for keys in sorted(arrived, key=len):
            if not place(keys, set()):
                owners[keys[0]].append(keys)
        return {key: len(devices) for key, devices in owners.items()}

    def _natives(self):
        """Whatever arrived in a service's own words against the form that was given."""
        for pns, handle, marker in self.accepted:
            if self.load.sends[marker]["native"].get(pns) and (pns, handle, marker) not in self.witness.native:
                self.lost += 1
                self.faults.append(f"{marker}: a native payload is counted as accepted, and {pns} has not got it whole")
        for (pns, _, marker), differences in self.witness.native.items():
            wrong = [difference for difference in differences if difference]
            if wrong:
                self.lost += 1
                self.faults.append(f"{marker}: what {pns} got is not the native payload given: {wrong[0]}")

    def _registrations(self):
        for name, (registration, generation) in self.load.registers.items():
            # Both as the registration says and as an audience finds it.
            rows = self.rows(
                'SELECT registration.tags, number, name FROM registration '
                'JOIN tagged ON tagged.pns = registration.pns AND tagged."row" = registration."row" '
                "JOIN tag_name ON number = tagged.tag WHERE registration.id = ?",
                registration,
            )
            tags = {name for listed, number, name in rows if number in json.loads(listed or "[]")}
            if f"v{generation}" not in tags:
                self.lost += 1
                self.faults.append(f"{name}: was registered with v{generation}, and has {sorted(tags)}")


def _text(blob):
    text = blob.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def summary(counts):
    return json.dumps(dict(sorted(counts.items())))
