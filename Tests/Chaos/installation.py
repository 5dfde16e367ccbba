"""The real system: two of each program and the simulator as processes, which are started again when they die."""

import base64
import contextlib
import hashlib
import json
import math
import os
import pathlib
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request

import azure
import patience
import stores

# How many of each run.
PROGRAMS = {"api": 2, "hub": 1, "register-worker": 2, "send-worker": 2, "delivery-worker": 2}

# Which crash points each program comes by.
STORE_POINTS = ["store.committing", "store.committed"]
SWEEP_POINTS = ["sweep.taken", "sweep.housekeeping"]
PUBLISH_POINTS = ["outbox.published", "outbox.marked"]
WORK_POINTS = ["outbox.deferred", "outbox.redelivered", "dead.published"]
POINTS = {
    "api": ["api.accepted", *PUBLISH_POINTS, *STORE_POINTS, *SWEEP_POINTS],
    "hub": ["api.accepted", *STORE_POINTS],
    # Its messages have one member each: none is split.
    "register-worker": ["register.taken", "register.sliced", "register.applied", "register.finished", *WORK_POINTS, *STORE_POINTS],
    "send-worker": [
        *["send.taken", "send.claimed", "send.acknowledged", "fanout.read", "fanout.committed", "outbox.split", "dead.stored"],
        *PUBLISH_POINTS,
        *WORK_POINTS,
        *STORE_POINTS,
        *SWEEP_POINTS,
    ],
    "delivery-worker": [
        *["deliver.taken", "deliver.begun", "deliver.sent", "deliver.recorded", "outbox.split"],
        *["hub.submitting", "hub.answered"],
        *WORK_POINTS,
        *STORE_POINTS,
    ],
}


def programs_of_points():
    """Who comes by each crash point."""
    return {
        point: [program for program in POINTS if point in POINTS[program]]
        for points in POINTS.values()
        for point in points
    }


def boot_time():
    """Seconds, by the clock of the store but for its shift."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def known_points(source):
    """The crash points as the program knows them, from its source."""
    return set(re.findall(r'case \w+ = "([a-z.]+)"', pathlib.Path(source).read_text()))


class Failure(Exception):
    """The run cannot go on; its text is for the operator."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Member:
    """One process and those that follow upon it under the same name."""

    def __init__(self, name, program, port, seed):
        self.name = name
        self.program = program
        self.address = "127.0.0.1"
        self.port = port
        # Of another Pushline than the others; None = of theirs.
        self.bin = None
        self.environment = {}
        # Of its own, so that its crash points follow from the seed alone, whatever else happens.
        self.random = random.Random(f"{seed} {name}")
        self.process = None
        self.point = None
        self.is_wanted = True
        self.was_killed = False
        self.started = 0.0


class Installation:
    # Seconds that a client waits for an answer.
    patience = 40

    def __init__(self, options, say):
        self.options = options
        self.say = say
        self.folder = pathlib.Path(options.folder)
        self.bin = pathlib.Path(options.bin)
        self.data = self.folder / "data"
        self.store = stores.ServerStore(options.server) if options.server else stores.FileStore(self.data / "store.sqlite")
        self.logs = self.folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(exist_ok=True)
        self.jump_file = self.folder / "clock-jump"
        self.jump(0)
        self.lock = threading.RLock()
        self.members = []
        # What the commands are told besides: steps of tests.
        self.trial = {}
        self.simulator = None
        self.is_crashing = False
        self.is_ending = False
        # Since when the store can be written by nobody, and until when it could not.
        self.no_store_from = self.no_store_until = 0.0
        # What the run is judged by.
        self.crashes = {}
        self.points = {}
        # Program, from when and until when it was dead or stood still, by the clock that no jump moves.
        self.breaks = []
        self.unexpected = []

    # ---- Beginning ----

    def start(self):
        self._start_simulator()
        ports = iter([free_port() for _ in range(16)])
        self.environment = {
            **self.store.environment,
            "PUSHLINE_BROKER_URL": os.environ["BROKER_URL"],
            "PUSHLINE_API_PORT": str(next(ports)),
            "PUSHLINE_DELIVERY_DEVICES": str(self.options.devices),
            "PUSHLINE_CLOCK_JUMP": str(self.jump_file),
            "PUSHLINE_LOG_FORMAT": "text",
        }
        self.port = int(self.environment["PUSHLINE_API_PORT"])
        # Where clients find the APIs.
        self.places = [("127.0.0.1", self.port)]
        self.hub_port = int(next(ports))
        self._declare()
        for program, count in PROGRAMS.items():
            for number in range(1, count + 1):
                port = {"api": self.port, "hub": self.hub_port}.get(program) or next(ports)
                member = Member(f"{program}-{number}", program, port, self.options.seed)
                self.members.append(member)
                with self.lock:
                    self._launch(member)
        for member in self.members:
            self.wait_until_ready(member, 60)
        threading.Thread(target=self._watch, daemon=True).start()

    def _start_simulator(self):
        state = self.folder / "simulator.json"
        log = (self.logs / "simulator.log").open("ab")
        ports = [str(free_port()) for _ in range(4)]
        command = [self.bin / "pushline-simulator", "--folder", self.folder / "simulator", "--state", state]
        command += ["--ports", f"apns={ports[0]},fcm={ports[1]},wns={ports[2]}", "--control-port", ports[3]]
        with log:
            self.simulator = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.control = f"http://127.0.0.1:{ports[3]}"
        self._await(
            lambda: state.exists() and self._answers(f"{self.control}/healthz"),
            60,
            "the simulator does not start; see simulator.log",
        )
        self.channel = json.loads(state.read_text())["urls"]["wnsChannel"]

    def _declare(self):
        text = (self.folder / "simulator" / "apps.yaml").read_text()
        # Every device is listed, so that each can be looked for at the push services.
        apps = self.folder / "apps.yaml"
        apps.write_text(text.replace("  default:\n", "  default:\n    recording: all\n    requests_per_second: 100000\n", 1))
        self.cli("apps", "apply", apps)
        self.key = self.cli("keys", "create", "chaos", "--role", "operator").strip()
        self.sender_key = self.cli("keys", "create", "backend", "--role", "sender").strip()
        self.azure_key = azure.declare(self)
        self.accounts = {}
        for number in range(self.options.accounts):
            name, password = f"churn{number}", f"chaos password {number}"
            self.cli("accounts", "add", name, "--role", "user", "--password-stdin", stdin=f"{password}\n")
            self.accounts[name] = password
        self._cheapen_passwords()

    def _cheapen_passwords(self):
        """Gives the accounts hashes that cost little: checking one takes a debug build seconds, after each start, and many on a busy
        machine; a process that drains waits for it."""
        hashes = []
        for name, password in self.accounts.items():
            rounds, size, salt = 16, 8, os.urandom(16)
            digest = hashlib.scrypt(password.encode(), salt=salt, n=rounds, r=size, p=1, dklen=32)
            parts = (base64.b64encode(part).decode() for part in (salt, digest))
            hashes.append(("$".join(["scrypt", str(rounds), str(size), "1", *parts]), name))
        self.store.change("UPDATE account SET password = ? WHERE name = ?", hashes)
        changed = self.store.rows("SELECT count(*) FROM account WHERE password LIKE 'scrypt$16$%'")[0][0]
        if changed != len(hashes):
            raise Failure(f"{changed} of {len(hashes)} accounts are in the store")

    def base_environment(self):
        """Of commands, and of what all programs are told."""
        return {**os.environ, **self.environment, **self.trial}

    def _pushline(self, *arguments, stdin=None):
        words = [*map(str, arguments)]
        pipe = subprocess.PIPE
        return patience.run(
            [self.bin / "pushline", *words, "--config", self.options.config],
            f"pushline {' '.join(words[:2])}",
            stdin,
            env=self.base_environment(),
            stdin=subprocess.DEVNULL if stdin is None else pipe,
            stdout=pipe,
            stderr=pipe,
        )

    def cli(self, *arguments, stdin=None):
        result = self._pushline(*arguments, stdin=stdin)
        if result.returncode != 0:
            raise Failure(f"pushline {' '.join(map(str, arguments[:2]))} failed: {result.stderr.strip()[-300:]}")
        return result.stdout

    # ---- Processes ----

    def _launch(self, member, point=None):
        """With the lock held."""
        # A thread of faults that had a process in hand starts none behind the back of `stop`.
        if self.is_ending:
            return
        member.point = point
        # Of the process before, whose end nobody may have noted yet.
        member.was_killed = False
        if point is None and self.is_crashing and member.random.random() < self.options.crash_share:
            point = member.random.choice(POINTS[member.program])
            member.point = f"{point}:{member.random.choice([1, 1, 2, 3, 5, 10, 40])}"
        environment = self._environment(member)
        if member.point:
            environment["PUSHLINE_CRASH_AT"] = member.point
        log = (self.logs / f"{member.name}.log").open("ab")
        with log:
            member.process = subprocess.Popen(
                self._command(member),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        member.started = time.monotonic()

    def _environment(self, member):
        environment = {**os.environ, **self.environment, **member.environment}
        if member.program == "hub":
            environment |= azure.environment(self)
        elif member.program != "api":
            environment[f"PUSHLINE_WORKERS_{member.program.split('-')[0].upper()}_PORT"] = str(member.port)
        return environment

    def _command(self, member):
        return [str((member.bin or self.bin) / f"pushline-{member.program}"), "--config", str(self.options.config)]

    def _watch(self):
        """Starts again what has died, and notes of what."""
        while not self.is_ending:
            with self.lock:
                for member in self.members:
                    if member.is_wanted and member.process.poll() is not None:
                        self._note_end(member)
                        # One that dies at once is not started in a tight loop.
                        if time.monotonic() - member.started < 0.5:
                            time.sleep(0.5)
                        self._launch(member)
            time.sleep(0.05)

    def _note_end(self, member):
        status = member.process.returncode
        if status == -signal.SIGKILL:
            self._count_crash(member)
            if member.point:
                # Killed by us before it came there, it counts all the same as a crash, but not as that point's.
                if not member.was_killed:
                    self.points[member.point] = self.points.get(member.point, 0) + 1
            member.was_killed = False
        elif status != 1 or not self._had_no_store(member):
            self.unexpected.append(f"{member.name} ended by itself with {status}; see its log")

    def _count_crash(self, member):
        self.crashes[member.program] = self.crashes.get(member.program, 0) + 1
        self.note_break(member, boot_time())

    def note_break(self, member, begin):
        """Notes that a process could do nothing from then until now."""
        self.breaks.append((member.program, begin, boot_time()))

    def note_lost_commits(self, begin):
        """Notes that commits from then until now may have had no answer."""
        self.breaks.append(("store", begin, boot_time()))

    def _had_no_store(self, member):
        """Whether it may have begun when the store could not be written: then it ends at once, and says why. A slow machine takes
        its time with that."""
        return self.no_store_from - 20 < member.started < self.no_store_until

    @contextlib.contextmanager
    def without_store(self):
        self.no_store_from, self.no_store_until = time.monotonic(), math.inf
        try:
            yield
        finally:
            self.no_store_until = time.monotonic()

    def wait_until_ready(self, member, seconds):
        if member.program in ("api", "hub"):
            # The APIs share a port: who answers there is anybody's guess. The hub speaks TLS.
            is_ready = lambda: self._listens(member)
        else:
            is_ready = lambda: self._answers(f"http://{member.address}:{member.port}/readyz")
        self._await(is_ready, seconds, f"{member.name} does not become ready; see its log")

    def _listens(self, member):
        """Whether the process has a socket that listens at its port."""
        listening = set()
        folder = f"/proc/{member.process.pid}/fd"
        try:
            # Of the network that it is in.
            for line in pathlib.Path(f"/proc/{member.process.pid}/net/tcp").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].split(":")[1], 16) == member.port:
                    listening.add(f"socket:[{fields[9]}]")
            return any(os.readlink(f"{folder}/{file}") in listening for file in os.listdir(folder))
        except OSError:
            return False

    def _answers(self, url):
        try:
            with urllib.request.urlopen(url, timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def _await(self, condition, seconds, words):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise Failure(words)
            time.sleep(0.1)

    def of(self, program):
        return [member for member in self.members if member.program == program]

    def kill(self, member):
        with self.lock:
            if member.process.poll() is None:
                member.was_killed = True
                member.process.kill()

    def signal(self, member, number):
        with self.lock:
            if member.process.poll() is None:
                member.process.send_signal(number)

    def stop_between_commits(self, members):
        """Stops them, none of them within a commit: it would hold the store's lock, and nobody could write until it goes on."""
        for _ in range(50):
            for member in members:
                self.signal(member, signal.SIGSTOP)
            if all(map(self._is_stopped, members)) and self.store.is_writable():
                return
            for member in members:
                self.signal(member, signal.SIGCONT)
            time.sleep(0.05)
        raise RuntimeError("the store's lock was held whenever the processes were stopped")

    def _is_stopped(self, member):
        """Whether each of its threads is, within a second: one that is in a system call ends it first."""
        states = pathlib.Path(f"/proc/{member.process.pid}/task")
        for _ in range(1000):
            time.sleep(0.001)
            with contextlib.suppress(OSError):
                if all(path.read_text().rpartition(")")[2].split()[0] in "TZX" for path in states.glob("*/stat")):
                    return True
        return False

    def crash_at(self, point, programs, provoke, seconds=60):
        """Has all of the programs started anew with a crash point; whether one of them died of it in time."""
        plan = f"{point}:1"
        before = self.points.get(plan, 0)
        with self.lock:
            for member in self.members:
                if member.program in programs:
                    member.process.kill()
                    member.process.wait()
                    self._count_crash(member)
                    self._launch(member, plan)
        provoke()
        end = time.monotonic() + seconds
        while self.points.get(plan, 0) == before and time.monotonic() < end:
            time.sleep(0.05)
        # Those who have not come by it yet do not die of it later.
        with self.lock:
            for member in self.members:
                if member.point == plan:
                    member.was_killed = True
                    member.process.kill()
        return self.points.get(plan, 0) > before

    def broker_is(self, state):
        """How many of the processes say so of their broker."""
        found = 0
        for member in self.members:
            if member.program == "hub":
                continue
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{member.port}/readyz", timeout=2) as answer:
                    found += json.loads(answer.read())["broker"] == state
            except (OSError, ValueError):
                pass
        return found

    def restart(self, member, seconds):
        """Ends a process in order and starts it again, as a rolling restart does; what it says of its end."""
        with self.lock:
            member.is_wanted = False
            process = member.process
            has_begun = self._catches(process, signal.SIGTERM)
            process.terminate()
        start = time.monotonic()
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.unexpected.append(f"{member.name} did not end within {seconds} s of SIGTERM")
            status = None
        if status == -signal.SIGKILL:
            # A crash point came first, or another thread of faults.
            self._note_end(member)
        elif status == -signal.SIGTERM and not has_begun:
            pass
        elif status == 1 and self._had_no_store(member):
            pass
        elif status not in (0, None):
            self.unexpected.append(f"{member.name} ended with {status} after SIGTERM; see its log")
        with self.lock:
            self._launch(member)
            member.is_wanted = True
        return time.monotonic() - start

    @staticmethod
    def _catches(process, number):
        """Whether a process has come so far that it ends in order at a signal; on a busy machine that takes a while."""
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (number - 1) & 1)
        return False

    def stop(self, seconds=45):
        """Ends everything in order; how long each program took."""
        took = self.end_programs(seconds)
        self.end_rest()
        return took

    def end_programs(self, seconds):
        """Ends the programs in order; how long each took."""
        took = {}
        with self.lock:
            self.is_ending = True
            for member in self.members:
                member.is_wanted = False
                if member.process and member.process.poll() is None:
                    member.process.send_signal(signal.SIGCONT)
                    member.process.terminate()
        start = time.monotonic()
        for member in self.members:
            if member.process is None:
                continue
            try:
                status = member.process.wait(max(0.1, seconds - (time.monotonic() - start)))
                took[member.name] = time.monotonic() - start
                if status != 0:
                    self.unexpected.append(f"{member.name} ended with {status} at the end")
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()
                self.unexpected.append(f"{member.name} did not end within {seconds} s of SIGTERM")
        return took

    def end_rest(self):
        """Ends what the programs have used."""
        if self.simulator and self.simulator.poll() is None:
            self.simulator.terminate()
            try:
                self.simulator.wait(20)
            except subprocess.TimeoutExpired:
                self.simulator.kill()
                self.simulator.wait()

    def check_store(self):
        """What `pushline store check` finds wrong, if anything."""
        result = self._pushline("store", "check")
        return "" if result.returncode == 0 else (result.stdout + result.stderr).strip()[-1000:]

    # ---- The clock ----

    def jump(self, milliseconds):
        if not self.jump_file.exists():
            self.jump_file.write_bytes(struct.pack("=q", milliseconds))
            return
        # In place: the processes have it mapped.
        with self.jump_file.open("r+b") as file:
            file.write(struct.pack("=q", milliseconds))

    # ---- What a process holds ----

    def resources(self):
        """Open files and megabytes resident of each process that runs."""
        found = {}
        for member in self.members:
            pid = member.process.pid
            try:
                files = len(os.listdir(f"/proc/{pid}/fd"))
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            resident = re.search(r"VmRSS:\s+(\d+)", status)
            if resident:
                found[member.name] = (files, int(resident.group(1)) // 1024)
        return found
