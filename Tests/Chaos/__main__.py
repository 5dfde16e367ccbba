"""Breaks a running Pushline on purpose; deploy/chaos prepares what it needs. See docs/reliability.md."""

import pathlib
import sys
import time

import patience
import script
from broker import Broker
from faults import Faults
from installation import Failure, Installation, known_points, programs_of_points
from load import Load
from script import CALM_TIMEOUT, DRAIN, TIMEOUT, URGENT, say
from verdict import Verdict, summary
from witness import Witness

# Sends when nothing is wrong any more.
CALM = 200
# Of debug builds, in megabytes; the load is small.
MEMORY = 400
# Open files that a process may have more than at the beginning: connections come and go.
FILES = 80
# The most streams of a connection to the simulator: answers that a cut connection may cost.
STREAMS = 1000


def arguments():
    parser = script.add_host(script.parser(__doc__, clients=3, accounts=4, pace=0.4))
    parser.add_argument("--every-point", action="store_true", help="a crash at each crash point, before anything else")
    parser.add_argument("--rest", type=float, default=3, help="seconds between the faults of a thread, on average")
    parser.add_argument("--crash-share", type=float, default=0.6, help="the part of processes that is given a crash point")
    return parser.parse_args()


class Run:
    def __init__(self, options):
        self.options = options
        self.installation = Installation(options, say)
        self.broker = Broker(options)

    def go(self):
        say(f"Seed {self.options.seed}: starting two of each program and the simulator ...")
        self._check_points()
        self.installation.start()
        self.load = Load(self.installation, self.options, say)
        self.witness = Witness(self.installation.control, self.load.sends)
        self.faults = Faults(self.installation, self.broker, self.load, self.options)
        devices = self.load.register_devices()
        self.before = self.installation.resources()
        self.connections = [self.broker.settled_connections()]
        self.load.start()
        if self.options.every_point:
            say(f"{devices} devices; a crash at each of {len(programs_of_points())} points ...")
            self.faults.walk_points()
        say(f"{devices} devices; breaking things for {self.options.minutes:g} minutes ...")
        self.installation.is_crashing = True
        self.faults.start()
        self._watch()
        self._heal()
        return self._judge()

    def _check_points(self):
        known = known_points(pathlib.Path(self.options.root) / "Sources/FaultInjection/CrashPoint.swift")
        ours = set(programs_of_points())
        if known != ours:
            raise Failure(f"crash points that only one side knows: {', '.join(sorted(known ^ ours))}")

    def _watch(self):
        begin = time.monotonic()
        end = begin + self.options.minutes * 60
        shown = begin
        while time.monotonic() < end:
            time.sleep(1)
            if error := self.witness.error or self.faults.end:
                raise Failure(error)
            if time.monotonic() - shown >= 20:
                shown = time.monotonic()
                say(
                    f"  {(shown - begin) / 60:4.1f} min: {len(self.load.sends)} sends, {self.witness.count} pushes accepted, "
                    f"{sum(self.faults.made.values())} faults, {sum(self.installation.crashes.values())} crashes"
                )

    def _heal(self):
        say("Healing, and waiting until no job is unfinished ...")
        self.faults.stop()
        if self.faults.end:
            raise Failure(self.faults.end)
        self.installation.is_crashing = False
        # A crash point that was not reached waits no longer.
        for member in self.installation.members:
            if member.point:
                self.installation.restart(member, DRAIN)
            self.installation.wait_until_ready(member, 120)
        self.load.stop(60)
        self.verdict = Verdict(self.installation, self.load, self.witness)
        self.verdict.await_end(self.options.ttl + TIMEOUT, say)
        # What is sent now lives for hours: nothing that a worker loses is hidden by its job's end.
        say(f"All is well: {CALM} sends that must reach every device ...")
        self.load.send_calmly(CALM)
        self.verdict.await_end(CALM_TIMEOUT, say)
        self.verdict.read_back()
        self.after = self.installation.resources()
        self.connections.append(self.broker.settled_connections(self.connections[0]))

    def _judge(self):
        check = self.installation.check_store()
        self.witness.stop()
        took = self.installation.stop(DRAIN + 5)
        verdict = self.verdict.find()
        faults = verdict.faults + self.load.violations + self.installation.unexpected + self.faults.troubles
        if self.witness.error:
            faults.append(self.witness.error)
        if check:
            faults.append(f"store check: {check}")
        for name, seconds in took.items():
            if seconds > DRAIN:
                faults.append(f"{name} took {seconds:.0f} s to end")
        for name, (files, memory) in self.after.items():
            if memory > MEMORY:
                faults.append(f"{name} holds {memory} MB")
            if name in self.before and files > self.before[name][0] + FILES:
                faults.append(f"{name} has {files} files open, and had {self.before[name][0]}")
        before, after = self.connections
        for words, channels in (("is left over", after - before), ("is missing", before - after)):
            faults += [f"at the broker {channel} {words}" for channel in sorted(channels)]
        self._report(took)
        for fault in faults[:40]:
            say(f"  FAULT: {fault}")
        if len(faults) > 40:
            say(f"  and {len(faults) - 40} more")
        bound = self._bound()
        say(
            f"lost {verdict.lost}, counted twice {verdict.counted_twice}, "
            f"duplicates {verdict.duplicates} of at most {bound}, stuck {verdict.stuck}"
        )
        return 1 if faults or verdict.lost or verdict.counted_twice or verdict.stuck or verdict.duplicates > bound else 0

    def _bound(self):
        """Rule 10: what a delivery worker had in progress, for each crash, pause and lost connection; and for each connection to a push
        service that was cut, what was under way on it; and each push of which a service lost the answer."""
        workers = len(self.installation.of("delivery-worker"))
        ends = self.installation.crashes.get("delivery-worker", 0) + self.faults.pauses + self.faults.broker_losses * workers
        return ends * 3 * (self.options.devices + URGENT) + self.faults.cuts * STREAMS + self.faults.swallowed

    def _report(self, took):
        installation, load, faults = self.installation, self.load, self.faults
        accepted = sum(1 for send in load.sends.values() if send["id"])
        say(f"Sends: {len(load.sends)}, of which {accepted} were accepted; answers: {summary(load.counts)}")
        say(f"Devices counted as accepted: {len(self.verdict.accepted)}; accepted by the push services: {self.witness.count}")
        say(f"Calls of the Azure hub: {summary(self.verdict.calls)}")
        say(f"Native payloads that arrived, each as it was given: {sum(map(len, self.witness.native.values()))}")
        changes, known = sum(wards.changes for wards in load.wards), sum(len(wards.expected) for wards in load.wards)
        say(f"Changes on behalf of users: {changes}, of {known} devices, each read back; not settled: {sum(len(wards.unsettled) for wards in load.wards)}")
        say(f"Devices that moved to another service during a send, and were counted at both: {self.verdict.moved}")
        say(f"Condemned after six starts, to be replayed (rule 5): {self.verdict.condemned}")
        say(f"Faults made: {summary(faults.made)}")
        say(f"Requests or messages that they hit: {summary(faults.hits)}")
        if patience.slow:
            say(f"Commands of this script's own that were slow: {', '.join(patience.slow)}")
        say(f"Crashes: {summary(installation.crashes)}")
        say(f"Crash points reached (point:hit): {summary(installation.points)}")
        files = {name: f"{self.before.get(name, (0, 0))[0]} to {files}" for name, (files, _) in self.after.items()}
        say(f"Open files, from the beginning to the end: {summary(files)}")
        say(f"Megabytes at the end: {summary({name: memory for name, (_, memory) in self.after.items()})}")
        say(f"Seconds that each took to end: {summary({name: round(seconds, 1) for name, seconds in took.items()})}")


if __name__ == "__main__":
    sys.exit(script.main(arguments(), Run))
