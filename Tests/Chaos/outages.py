"""What goes wrong with three hosts, one thing at a time: each ends when the cluster is whole again."""

import collections
import contextlib
import datetime
import signal
import subprocess
import time
import typing

from hosts import run
from installation import boot_time

# Whose broker connection may be lost with one node, or with the way to it: the delivery worker of each host.
ALL_WORKERS = 3


class Outage(typing.NamedTuple):
    make: typing.Callable
    # How many delivery workers may repeat what they have under way (rule 10), besides those that die, who are counted where they do.
    repeating: int = 0
    # Whether commits are held up meanwhile: then a program that begins may end with 1, and a commit may have no answer. What a program that dies
    # has broken is noted where it does.
    holds_up_commits: bool = False


# Seconds that a host may be away: longer than Patroni's ttl, so that another takes over.
AWAY = 32
# Until the cluster must be whole again, on a busy machine too.
WHOLE = 300


class Outages:
    def __init__(self, installation, load, witness, say):
        self.installation = installation
        self.hosts = installation.hosts
        self.load = load
        self.witness = witness
        self.say = say
        # (name, when it began, when all was whole again).
        self.made = []
        self.troubles = []
        # How often a delivery worker may have lost the outcomes of what it had under way, and lived.
        self.losses = 0
        # Of a primary beside its successor: seconds that both took writes, and jobs that came to it meanwhile.
        self.beside = collections.Counter()
        self.all = {
            "program": Outage(self._program),
            "server": Outage(self._server, holds_up_commits=True),
            "node": Outage(self._node, ALL_WORKERS),
            "host": Outage(self._host, ALL_WORKERS, holds_up_commits=True),
            "cut": Outage(self._cut, ALL_WORKERS, holds_up_commits=True),
            "hung-patroni": Outage(self._hung_patroni, holds_up_commits=True),
            "hung-server": Outage(self._hung_server, holds_up_commits=True),
            "hung-node": Outage(self._hung_node, ALL_WORKERS),
            "apart": Outage(self._apart, ALL_WORKERS),
            "hung-start": Outage(self._hung_start, ALL_WORKERS),
            "standby": Outage(self._standby, holds_up_commits=True),
            "standby-cut": Outage(self._standby_cut, ALL_WORKERS, holds_up_commits=True),
            "lost-answers": Outage(self._lost_answers, holds_up_commits=True),
            "snapshot": Outage(self._snapshot),
            "midnight": Outage(self._midnight),
            "rolling": Outage(self._rolling),
        }

    def make(self, name, chance):
        begin, moment = time.monotonic(), boot_time()
        outage = self.all[name]
        self.losses += outage.repeating
        try:
            with self.installation.without_store() if outage.holds_up_commits else contextlib.nullcontext():
                outage.make(chance)
                self.hosts.await_whole(WHOLE)
                for member in self.installation.members:
                    self.installation.wait_until_ready(member, WHOLE)
        except Exception as error:
            self.troubles.append(f"{name}: {error!r}")
        if outage.holds_up_commits:
            self.installation.note_lost_commits(moment)
        self.made.append((name, begin, time.monotonic()))
        self.say(f"  {name}: whole again after {time.monotonic() - begin:.0f} s; {len(self.load.sends)} sends, {self.witness.count} pushes so far")

    # ---- Of the programs ----

    def _program(self, chance):
        for _ in range(10):
            self.installation.kill(chance.choice(self.installation.members))
            time.sleep(chance.uniform(0.5, 3))

    def _rolling(self, chance):
        for host in self.hosts.all:
            for member in self.installation.members_of(host):
                self.installation.restart(member, 40)
                self.installation.wait_until_ready(member, 120)

    # ---- Of the hosts ----

    def _host(self, chance):
        host = self.hosts.of_role("leader")
        self.installation.lose(host)
        time.sleep(AWAY)
        self.installation.revive(host)

    def _cut(self, chance):
        host = self.hosts.of_role("leader")
        host.plug(False)
        try:
            self._beside(host, AWAY)
        finally:
            host.plug(True)

    # ---- Of the servers ----

    def _server(self, chance):
        host = self.hosts.of_role("leader")
        host.signal_all(host.pids("postgres"), signal.SIGKILL)
        time.sleep(5)

    def _hung_patroni(self, chance):
        host = self.hosts.of_role("leader")
        patroni = host.processes["patroni"]
        patroni.send_signal(signal.SIGSTOP)
        try:
            self._beside(host, AWAY + 8)
        finally:
            patroni.send_signal(signal.SIGCONT)

    def _hung_server(self, chance):
        host = self.hosts.of_role("leader")
        stopped = host.pids("postgres")
        host.signal_all(stopped, signal.SIGSTOP)
        try:
            time.sleep(AWAY + 8)
        finally:
            host.signal_all(stopped, signal.SIGCONT)

    def _standby(self, chance):
        host = self.hosts.of_role("sync_standby")
        host.end("patroni")
        host.signal_all(host.pids("postgres"), signal.SIGKILL)
        time.sleep(20)
        host.launch("patroni")

    def _standby_cut(self, chance):
        host = self.hosts.of_role("sync_standby")
        host.plug(False)
        try:
            time.sleep(AWAY)
        finally:
            host.plug(True)

    def _lost_answers(self, chance):
        """Commits that wait for their standby, whose connections are ended meanwhile: made, and nobody is told."""
        lost = 0
        for _ in range(8):
            standby = self.hosts.of_role("sync_standby")
            stopped = standby.pids("postgres")
            standby.signal_all(stopped, signal.SIGSTOP)
            try:
                time.sleep(chance.uniform(0.3, 1.5))
                words = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pushline' AND wait_event = 'SyncRep'"
                lost += len(self._ask(self.hosts.of_role("leader"), words))
            finally:
                standby.signal_all(stopped, signal.SIGCONT)
            time.sleep(chance.uniform(0.5, 2))
        self.beside["commits whose answer was lost"] += lost
        if not lost:
            raise RuntimeError("no commit waited for the standby, so that none has lost its answer")

    def _snapshot(self, chance):
        text = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job; SELECT pg_sleep(60); ROLLBACK"
        self._ask(self.hosts.of_role("leader"), text, seconds=90)

    # ---- Of the broker ----

    def _node(self, chance):
        chance.choice(self.hosts.all).processes["rabbitmq"].kill()
        time.sleep(5)

    def _hung_node(self, chance):
        node = chance.choice(self.hosts.all).processes["rabbitmq"]
        node.send_signal(signal.SIGSTOP)
        try:
            time.sleep(AWAY)
        finally:
            node.send_signal(signal.SIGCONT)

    def _apart(self, chance):
        """A node that stood still, and does not notice it: RabbitMQ itself does so now and then, and leaves it apart from the others."""
        self._handle_partitions("ignore")
        try:
            self._hung_node(chance)
            end = time.monotonic() + 20
            while "see all nodes" not in self.hosts.lacks():
                if time.monotonic() > end:
                    raise RuntimeError("no node is apart from the others")
                time.sleep(0.5)
        finally:
            self._handle_partitions("pause_minority")

    def _handle_partitions(self, way):
        for host in self.hosts.all:
            self._tell_node(host, f"application:set_env(rabbit, cluster_partition_handling, {way}).")

    def _hung_start(self, chance):
        """A node that does not finish its start, as one did that had been paused: this one is only marked so."""
        host = chance.choice(self.hosts.all)
        node = host.processes["rabbitmq"]
        self._tell_node(host, "rabbit_boot_state:set(booting).")
        end = time.monotonic() + WHOLE
        while host.processes["rabbitmq"] is node:
            if time.monotonic() > end:
                raise RuntimeError("a node that does not finish its start is not started anew")
            time.sleep(0.5)

    @staticmethod
    def _tell_node(host, words):
        run(*host.inside("rabbitmq"), "env", "HOME=/var/lib/rabbitmq", "rabbitmqctl", "-q", "eval", words)

    # ---- The time ----

    def _midnight(self, chance):
        now = datetime.datetime.now(datetime.timezone.utc)
        midnight = (now + datetime.timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        self.installation.jump(int((midnight - now).total_seconds() * 1000) - 8000)
        try:
            time.sleep(24)
        finally:
            self.installation.jump(0)

    # ---- An old primary ----

    def _ask(self, host, text, seconds=20):
        """What the server of one host answers, asked on the host itself: a line a row."""
        words = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "/run/postgresql", "-d", "pushline"]
        done = subprocess.run(
            [*host.inside("postgres"), *words], input=f"{text};\n", capture_output=True, text=True, timeout=seconds, cwd="/"
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-200:])
        return done.stdout.splitlines()

    def _beside(self, host, seconds):
        """Looks at a primary while another takes its place: what it still takes counts nowhere, so it must take nothing."""
        end = time.monotonic() + seconds
        first = None
        while time.monotonic() < end:
            time.sleep(1)
            leaders = [name for name, member in self.hosts.patroni(but=host).items() if member["role"] == "leader"]
            if leaders in ([], [host.name]):
                continue
            try:
                standby, jobs = self._ask(host, "SELECT pg_is_in_recovery(), count(*) FROM job", seconds=5)[0].split("|")
            except (RuntimeError, subprocess.TimeoutExpired, IndexError):
                continue
            if standby != "f":
                continue
            if first is None:
                first = time.monotonic(), int(jobs)
            self.beside["seconds that both took writes"] = max(
                self.beside["seconds that both took writes"], round(time.monotonic() - first[0])
            )
            if int(jobs) > first[1]:
                self.beside["jobs at an old primary"] += int(jobs) - first[1]
                self.troubles.append(f"the old primary of {host.name} has taken {int(jobs) - first[1]} jobs beside the new one")
                first = first[0], int(jobs)

    # ---- What it cost ----

    def table(self):
        """Of each that was made: how long nobody's send was taken, and nothing came to the push services."""
        return [(name, longest(self.load.taken, begin, end), longest(self.witness.moments, begin, end)) for name, begin, end in self.made]


def longest(moments, begin, end):
    """The longest time between two of them that reaches into an outage; they rise."""
    found, last = 0.0, None
    for moment in sorted(moments):
        if last is not None and moment >= begin and last <= end:
            found = max(found, moment - last)
        last = moment
    return found
