"""Breaks Pushline on three hosts on purpose: deploy/chaos --cluster prepares what it needs. See docs/reliability.md."""

import argparse
import collections
import random
import signal
import subprocess
import sys
import threading
import time

from clustered import ClusteredInstallation
from installation import Failure
from load import Load
from outages import Outages
from unanswered import Unanswered
from verdict import Verdict, summary
from witness import Witness

# As for one host: see __main__.py.
TIMEOUT = 240
CALM = 40
CALM_TIMEOUT = 120
DRAIN = 40
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
URGENT = 1000
# Seconds until the doctor must be content.
SETTLING = 60


def arguments():
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--folder", required=True, help="where everything is written")
    parser.add_argument("--bin", required=True, help="where our programs are, built for debugging")
    parser.add_argument("--config", required=True, help="Config/pushline.yaml")
    parser.add_argument("--root", required=True, help="the repository")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", default="", help="these outages, once each and in this order, in place of those that the seed gives")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--accounts", type=int, default=3)
    parser.add_argument("--pace", type=float, default=0.6, help="seconds between the requests of a client, on average")
    parser.add_argument("--ttl", type=int, default=150, help="seconds that most sends live")
    parser.add_argument("--devices", type=int, default=1000, help="delivery.devices")
    parser.set_defaults(server=None, crash_share=0)
    return parser.parse_args()


def say(text):
    print(text, flush=True)


class Run:
    def __init__(self, options):
        self.options = options
        self.installation = ClusteredInstallation(options, say)
        self.is_breaking = False

    def go(self):
        say(f"Seed {self.options.seed}: starting three hosts, with etcd, Patroni, PostgreSQL, RabbitMQ and each program on each ...")
        self.installation.start()
        self.load = Load(self.installation, self.options, say)
        self.witness = Witness(self.installation.control, self.load.sends)
        self.unanswered = Unanswered(self.installation.of("delivery-worker"))
        self.outages = Outages(self.installation, self.load, self.witness, say)
        chosen = [name for name in self.options.only.split(",") if name]
        if unknown := [name for name in chosen if name not in self.outages.all]:
            raise Failure(f"no outage is {unknown[0]}; there are {', '.join(self.outages.all)}")
        devices = self.load.register_devices()
        if wrong := self._doctor("before"):
            raise Failure(f"nothing was broken yet, and the doctor finds: {wrong[0]}")
        self.load.start()
        time.sleep(5)
        say(f"{devices} devices; {'breaking ' + ', '.join(chosen) if chosen else f'breaking things for {self.options.minutes:g} minutes'} ...")
        self._break(chosen)
        time.sleep(5)
        self._heal()
        return self._judge()

    def _break(self, chosen):
        chance = random.Random(f"{self.options.seed} outages")
        if chosen:
            for name in chosen:
                self.outages.make(name, chance)
                self._check_witness()
            return
        self.is_breaking = True
        beside = threading.Thread(target=self._kill_beside, daemon=True)
        beside.start()
        end = time.monotonic() + self.options.minutes * 60
        while time.monotonic() < end:
            deck = list(self.outages.all)
            chance.shuffle(deck)
            for name in deck:
                if time.monotonic() > end:
                    break
                self.outages.make(name, chance)
                self._check_witness()
                time.sleep(chance.uniform(0, 6))
        self.is_breaking = False
        beside.join(30)

    def _kill_beside(self):
        """Programs die whatever else goes wrong."""
        chance = random.Random(f"{self.options.seed} programs")
        while self.is_breaking:
            self.installation.kill(chance.choice(self.installation.members))
            time.sleep(chance.uniform(2, 14))

    def _check_witness(self):
        if self.witness.error:
            raise Failure(self.witness.error)

    def _doctor(self, when):
        """What the doctor says of the servers and the queues, for whoever reads the report; its lines of what is wrong, and stays so."""
        command = [self.installation.bin / "pushline", "doctor", "--config", self.options.config]
        host = self.installation.hosts.all[0]
        environment = self.installation._environment(self.installation.members_of(host)[0])
        words, end = [*map(str, host.inside()), *map(str, command)], time.monotonic() + SETTLING
        while True:
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
            lines = done.stdout.splitlines()
            wrong = [line for line in lines if line.startswith("wrong")]
            if lines and not wrong or time.monotonic() > end:
                break
            time.sleep(2)
        lines = [line for line in lines if "PostgreSQL" in line or " cluster" in line or line in wrong]
        say(f"The doctor, {when}:\n" + "\n".join(f"  {line}" for line in lines))
        if not lines:
            raise Failure(f"the doctor says nothing, {when}, and ends with {done.returncode}: {done.stderr.strip()[-300:]}")
        return wrong

    def _await_whole(self):
        self.installation.hosts.await_whole(180)

    def _heal(self):
        say("Healing, and waiting until no job is unfinished ...")
        self._await_whole()
        for member in self.installation.members:
            self.installation.wait_until_ready(member, 120)
        self.load.stop(60)
        self.verdict = Verdict(self.installation, self.load, self.witness)
        self.verdict.await_end(self.options.ttl + TIMEOUT, say)
        say(f"All is well: {CALM} rounds of sends that must reach every device ...")
        self.load.send_calmly(CALM)
        self.verdict.await_end(CALM_TIMEOUT, say)
        self.verdict.read_back()
        self.outages.troubles += [f"the doctor says of what was healed: {line}" for line in self._doctor("after")]

    def _judge(self):
        installation = self.installation
        check = installation.check_store()
        self.witness.stop()
        # The store's rows are read while its servers run.
        verdict = self.verdict.find()
        took = self._end()
        faults = verdict.faults + self.load.violations + installation.unexpected + self.outages.troubles
        faults += [f"store check: {check}"] * bool(check)
        faults += [f"{path.stem} says that commits are lost which were acknowledged" for path in self._lost_commits()]
        faults += [f"{name} took {seconds:.0f} s to end" for name, seconds in took.items() if seconds > DRAIN]
        self._report()
        for fault in faults[:40]:
            say(f"  FAULT: {fault}")
        if len(faults) > 40:
            say(f"  and {len(faults) - 40} more")
        bound = self._bound()
        longest = max((max(row[1:]) for row in self.outages.table()), default=0)
        say(
            f"lost {verdict.lost}, counted twice {verdict.counted_twice}, stuck {verdict.stuck}, "
            f"duplicates {verdict.duplicates} of at most {bound}, longest stand-still {longest:.1f} s"
        )
        return 1 if faults or verdict.lost or verdict.counted_twice or verdict.stuck or verdict.duplicates > bound else 0

    def _end(self):
        """Ends everything in order; how long each program took."""
        return self.installation.stop(DRAIN + 5)

    def _lost_commits(self):
        """The logs of programs that have seen an older state of the store than they knew of."""
        return [path for path in sorted(self.installation.logs.glob("*.log")) if b"has lost commits" in path.read_bytes()]

    def _bound(self):
        """Rule 10: what a delivery worker had in progress, for each of its ends, and as often as outages may have cost one its connection; and each
        push without an answer, as on a machine that is too busy."""
        ends = self.installation.crashes.get("delivery-worker", 0) + self.outages.losses
        return ends * 3 * (self.options.devices + URGENT) + self.unanswered.count

    def _repeated(self):
        """What came more often than it is counted, by the outcome of its device."""
        return collections.Counter("accepted" if is_counted else "another outcome" for is_counted in self.verdict.repeated)

    def _report(self):
        load = self.load
        accepted = sum(1 for send in load.sends.values() if send["id"])
        say(f"Sends: {len(load.sends)}, of which {accepted} were accepted; answers: {summary(load.counts)}")
        say(f"Devices counted as accepted: {len(self.verdict.accepted)}; accepted by the push services: {self.witness.count}")
        say(f"Calls of the Azure hub: {summary(self.verdict.calls)}")
        say(f"Crashes of programs: {summary(self.installation.crashes)}; of old primaries: {summary(self.outages.beside)}")
        say(f"Pushes without an answer: {self.unanswered.count}; sent more often than it is counted: {summary(self._repeated())}")
        say("Outage          no send taken   no push delivered")
        for name, taken, delivered in self.outages.table():
            say(f"{name:<15} {taken:>11.1f} s   {delivered:>15.1f} s")


def main(options, make):
    def end(asked, _):
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + asked)

    for number in SIGNALS:
        signal.signal(number, end)
    run = None
    try:
        run = make(options)
        return run.go()
    except (Failure, RuntimeError, subprocess.TimeoutExpired) as failure:
        print(f"chaos: {failure}", file=sys.stderr)
        return 1
    finally:
        if run:
            run.installation.stop(DRAIN)


if __name__ == "__main__":
    sys.exit(main(arguments(), Run))
