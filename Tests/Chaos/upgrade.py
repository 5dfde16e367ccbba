"""Replaces the programs of an older Pushline by newer ones under load, on one host or on three: deploy/chaos --upgrade-from prepares what it
needs. Their tables take a step that expands meanwhile, and one that contracts when all have ended, and not before."""

import collections
import pathlib
import subprocess
import sys
import time

import cluster
import script
from clustered import ClusteredInstallation
from installation import Installation
from load import Load
from outages import longest
from script import say
from unanswered import Unanswered
from witness import Witness

# Steps of tests: the newer programs have the first one more than the older, those of the next release would have both.
EXPAND = {"PUSHLINE_TRIAL_STEPS": "expand"}
CONTRACT = {"PUSHLINE_TRIAL_STEPS": "expand,contract"}
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
        # As a host has it: of the older, and read by the newer too.
        found = [folder / "Config" / "pushline.yaml" for folder in self.older.parents]
        options.config = next((str(file) for file in found if file.exists()), options.config)
        kind = Installation if options.broker else ClusteredInstallation
        self.installation = kind(options, say)

    def go(self):
        say(f"Seed {self.options.seed}: starting the older programs ...")
        self.installation.start()
        self.load = Load(self.installation, self.options, say)
        self.witness = Witness(self.installation.control, self.load.sends)
        self.unanswered = Unanswered(self.installation.of("delivery-worker"))
        self.outages = Changes(self.load, self.witness)
        self.load.register_devices()
        self.load.start()
        time.sleep(5)
        members = self.installation.members
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

    def _migrate(self, environment):
        owner = getattr(self.installation, "password_file", None) or (self.options.server and f"{self.options.server}/password")
        words = ["--owner", "pushline_owner", "--password-file", owner] if owner else ["--skip-backup"]
        command = [self.newer / "pushline", "store", "migrate", *words, "--config", self.options.config]
        return subprocess.run(
            list(map(str, command)),
            env={**self.installation.base_environment(), **environment},
            capture_output=True,
            text=True,
            timeout=180,
        )

    def _expand(self):
        done = self._migrate(EXPAND)
        say("  " + (done.stdout + done.stderr).strip().replace("\n", "\n  "))
        if done.returncode != 0:
            self.outages.troubles.append("the step that expands was not taken")

    def _refuse(self, words):
        done = self._migrate(CONTRACT)
        text = (done.stdout + done.stderr).strip()
        say(f"  a step that contracts, {words}: {text.splitlines()[-1] if text else done.returncode}")
        if done.returncode != 1 or "has the store open" not in text:
            self.outages.troubles.append(f"a step that contracts was not refused {words}")

    def _end(self):
        """The same step is taken when no program has the store open any more: it was they whom it was refused for."""
        took = self.installation.end_programs(cluster.DRAIN + 5)
        end = time.monotonic() + FORGOTTEN
        while (done := self._migrate(CONTRACT)).returncode != 0 and time.monotonic() < end:
            time.sleep(1)
        text = (done.stdout + done.stderr).strip()
        say(f"  a step that contracts, without programs: {text.splitlines()[-1] if text else done.returncode}")
        if done.returncode != 0:
            self.outages.troubles.append(f"a step that contracts was not taken without programs: {text[-300:]}")
        self.installation.end_rest()
        return took

    def _change(self, members, folder):
        """As an update does: one process after the other, each when the one before serves."""
        environment = EXPAND if folder == self.newer else {}
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
