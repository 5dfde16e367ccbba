"""Replaces the programs of an older Pushline by newer ones under load, on one host or on three: deploy/chaos --upgrade-from prepares what it
needs. Their tables take a step that expands meanwhile, and one that contracts when all have ended, and not before.

The step that expands is the newer programs' own, or one of tests where both have the same tables. Not both steps: a store that has taken
two is open to programs of the version before it alone."""

import collections
import pathlib
import re
import subprocess
import sys
import time

import cluster
import script
from clustered import ClusteredInstallation
from installation import Failure, Installation
from load import Load
from outages import longest
from script import say
from unanswered import Unanswered
from witness import Witness

# Steps of tests.
TRIAL = "PUSHLINE_TRIAL_STEPS"
# Seconds that older and newer programs work side by side.
TOGETHER = 15
# Seconds until a server knows that the connections of programs have ended.
FORGOTTEN = 30


def arguments():
    parser = script.add_host(script.parser(__doc__, clients=4, accounts=3, pace=0.5, crash_share=0), is_one=False)
    parser.add_argument("--upgrade-from", required=True, help="where the older programs are, built for debugging")
    return parser.parse_args()


class Changes:
    """What was changed, in the form of outages."""

    def __init__(self, load, witness):
        self.load = load
        self.witness = witness
        self.troubles = []
        self.losses = 0
        self.beside = collections.Counter()
        self.made = []

    def table(self):
        return [(name, longest(self.load.taken, *times), longest(self.witness.moments, *times)) for name, *times in self.made]


class Upgrade(cluster.Run):
    def __init__(self, options):
        self.options = options
        self.newer = pathlib.Path(options.bin)
        options.bin = options.upgrade_from
        self.older = pathlib.Path(options.bin)
        kind = Installation if options.broker else ClusteredInstallation
        self.installation = kind(options, say)

    def go(self):
        say(f"Seed {self.options.seed}: starting the older programs ...")
        self.installation.start()
        members = self.installation.members
        # One that dies comes back as what it was.
        for member in members:
            member.bin = self.older
        self._find_steps()
        self.load = Load(self.installation, self.options, say)
        self.witness = Witness(self.installation.control, self.load.sends)
        self.unanswered = Unanswered(self.installation.of("delivery-worker"))
        self.outages = Changes(self.load, self.witness)
        self.load.register_devices()
        self.load.start()
        time.sleep(5)
        self._part("a step that expands", self._expand)
        self._part("older to newer", lambda: self._change(members, self.newer))
        # One of each program: rows and messages of the newer ones are read by the older, and the other way round.
        first = {member.program: member for member in members}.values()
        self._part("some back to older", lambda: self._change(first, self.older))
        time.sleep(TOGETHER)
        self._refuse("with older and newer programs")
        self._part("older to newer again", lambda: self._change(first, self.newer))
        self._refuse("with newer programs alone, of the version before it")
        self._heal()
        return self._judge()

    def _part(self, name, work):
        begin = time.monotonic()
        work()
        self.outages.made.append((name, begin, time.monotonic()))
        say(f"  {name}: done after {time.monotonic() - begin:.0f} s; {len(self.load.sends)} sends, {self.witness.count} pushes so far")

    def _find_steps(self):
        """How the tables come to be those of the newer programs, and what a next release would have beyond them."""
        done = self._migrate({}, "--dry-run")
        found = re.match(r"version (\d+)", done.stdout)
        if done.returncode != 0 or not found:
            raise Failure(f"the newer programs do not say what steps they have: {(done.stdout + done.stderr).strip()[-300:]}")
        self.version = int(found[1])
        kinds = re.findall(r"^version \d+: (expands|contracts): ", done.stdout, re.MULTILINE)
        if len(kinds) > 1 or "contracts" in kinds:
            raise Failure("the older programs cannot work with the tables of the newer ones: " + done.stdout.strip().replace("\n", "; "))
        # What the newer programs are told, and whoever is to be refused the step that contracts: nothing may be left to take before it.
        self.expand, self.refused = ({}, {TRIAL: "contract"}) if kinds else ({TRIAL: "expand"}, {TRIAL: "expand,contract"})
        say(f"  the older programs' tables have version {self.version}; the step that expands is {'that of the newer' if kinds else 'of tests'}")

    def _migrate(self, environment, *more):
        owner = getattr(self.installation, "password_file", None) or (self.options.server and f"{self.options.server}/password")
        words = ["--owner", "pushline_owner", "--password-file", owner] if owner else ["--skip-backup"]
        command = [self.newer / "pushline", "store", "migrate", *words, *more, "--config", self.options.config]
        return subprocess.run(
            list(map(str, command)),
            env={**self.installation.base_environment(), **environment},
            capture_output=True,
            text=True,
            timeout=180,
        )

    def _expand(self):
        done = self._migrate(self.expand)
        say("  " + (done.stdout + done.stderr).strip().replace("\n", "\n  "))
        if done.returncode != 0:
            self.outages.troubles.append("the step that expands was not taken")

    def _refuse(self, words):
        done = self._migrate(self.refused)
        text = (done.stdout + done.stderr).strip()
        say(f"  a step that contracts, {words}: {text.splitlines()[-1] if text else done.returncode}")
        found = re.search(r"one of version (\d+) has the store open", text)
        if found:
            say(f"  it was {'an older' if int(found[1]) == self.version else 'a newer'} program that was in its way, of version {found[1]}")
        if done.returncode != 1 or not found:
            self.outages.troubles.append(f"a step that contracts was not refused {words}")

    def _end(self):
        """The same step is taken when no program has the store open any more: it was they whom it was refused for. What it takes away is
        brought by the step of tests that expands."""
        took = self.installation.end_programs(cluster.DRAIN + 5)
        end = time.monotonic() + FORGOTTEN
        while (done := self._migrate({TRIAL: "expand,contract"})).returncode != 0 and time.monotonic() < end:
            time.sleep(1)
        text = (done.stdout + done.stderr).strip()
        say(f"  a step that contracts, without programs: {text.splitlines()[-1] if text else done.returncode}")
        if done.returncode != 0:
            self.outages.troubles.append(f"a step that contracts was not taken without programs: {text[-300:]}")
        self.installation.end_rest()
        return took

    def _change(self, members, folder):
        """As an update does: one process after the other, each when the one before serves."""
        environment = self.expand if folder == self.newer else {}
        self.installation.bin, self.installation.trial = folder, environment
        for member in members:
            member.bin, member.environment = folder, environment
            self.installation.restart(member, 40)
            self.installation.wait_until_ready(member, 120)

    def _await_whole(self):
        pass

    def _doctor(self, when):
        return []


if __name__ == "__main__":
    sys.exit(script.main(arguments(), Upgrade))
