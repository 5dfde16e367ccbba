"""Pushline on three hosts: one of each program on each, a store at their PostgreSQL servers, and clients who know the APIs of all."""

import json
import pathlib
import subprocess
import sys
import threading
import time

import stores
from hosts import Hosts, run
from installation import Installation, Member

# Of every host; no two programs of a host share a port.
PORTS = {"api": 8080, "hub": 8443, "register-worker": 8081, "send-worker": 8082, "delivery-worker": 8083}


class HostsStore(stores.ServerStore):
    def _psql(self):
        return {**super()._psql(), "PGTARGETSESSIONATTRS": "read-write", "PGCONNECT_TIMEOUT": "3"}


class ClusteredInstallation(Installation):
    # One that does not answer is left for another: it may be cut off.
    patience = 8

    def __init__(self, options, say):
        super().__init__(options, say)
        self.hosts = Hosts(options, self.logs)
        self.relay = None

    # ---- Beginning ----

    def start(self):
        self.hosts.make()
        self._make_store()
        self._start_simulator()
        self._start_relay()
        self.hub_port = PORTS["hub"]
        self.places = [(host.address, PORTS["api"]) for host in self.hosts.all]
        password = self.hosts.password
        self.environment = {
            **self.store.environment,
            "PUSHLINE_BROKER_URL": ",".join(f"amqp://pushline:{password}@{host.name}/pushline" for host in self.hosts.all),
            "PUSHLINE_BROKER_MANAGEMENT_URL": f"http://{self.hosts.all[0].name}:15672",
            "PUSHLINE_DELIVERY_DEVICES": str(self.options.devices),
            "PUSHLINE_CLOCK_JUMP": str(self.jump_file),
            "PUSHLINE_LOG_FORMAT": "text",
        }
        self.hosts.await_whole(300)
        self.cli("store", "migrate", "--owner", "pushline_owner", "--password-file", self.password_file)
        self._declare()
        for host in self.hosts.all:
            for program, port in PORTS.items():
                member = Member(f"{program}-{host.name}", program, port, self.options.seed)
                member.host, member.address = host, host.address
                self.members.append(member)
                with self.lock:
                    self._launch(member)
        for member in self.members:
            self.wait_until_ready(member, 120)
        threading.Thread(target=self._watch, daemon=True).start()

    def _insist(self, work, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                return work()
            except (RuntimeError, subprocess.TimeoutExpired):
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def _make_store(self):
        folder = self.folder / "store"
        folder.mkdir()
        self.password_file = folder / "password"
        self.password_file.write_text(self.hosts.password + "\n")
        self.password_file.chmod(0o600)
        names = ",".join(host.name for host in self.hosts.all)
        url = f"postgresql://pushline@{names}/pushline?sslmode=verify-full&sslrootcert={self.hosts.authority}"
        settings = {
            "PUSHLINE_STORE_PATH": "",
            "PUSHLINE_STORE_URL": url,
            "PUSHLINE_STORE_PASSWORD_FILE": self.password_file,
            "PUSHLINE_STORE_LOCK_FOLDER": self.folder,
        }
        (folder / "settings").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self.store = HostsStore(folder)
        self._insist(self._make_database, 300)

    def _make_database(self):
        """What an administrator does once, where the servers are all there."""
        roles = sorted(member["role"] for member in self.hosts.patroni().values())
        if roles != ["leader", "replica", "sync_standby"]:
            raise RuntimeError(f"the servers are {roles}")
        password = self.hosts.password
        run(
            *self.hosts.of_role("leader").inside("postgres"),
            *["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "/run/postgresql", "-d", "postgres"],
            input=f"CREATE ROLE pushline_owner LOGIN PASSWORD '{password}';\nCREATE ROLE pushline LOGIN PASSWORD '{password}';\n"
            "CREATE DATABASE pushline OWNER pushline_owner ENCODING 'UTF8' TEMPLATE template0;\n"
            "GRANT pg_read_all_stats TO pushline;\n",
            cwd="/",
        )

    def _start_relay(self):
        ports = [url.rpartition(":")[2] for url in json.loads((self.folder / "simulator.json").read_text())["urls"].values() if ":" in url]
        ports = [port.split("/")[0] for port in ports]
        script = pathlib.Path(__file__).parent / "relay.py"
        words = [sys.executable, "-B", script, *[host.holder.pid for host in self.hosts.all], "--", *sorted(set(ports))]
        log = (self.logs / "relay.log").open("ab")
        with log:
            self.relay = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        if self.relay.stdout.readline() != "ready\n":
            raise RuntimeError("the push services cannot be reached from the hosts; see relay.log")

    # ---- Processes ----

    def _environment(self, member):
        own = {"PUSHLINE_API_HOST": member.address, "PUSHLINE_WORKERS_HOST": member.address}
        locks = member.host.folder / "locks"
        locks.mkdir(exist_ok=True)
        return {**super()._environment(member), **own, "PUSHLINE_STORE_LOCK_FOLDER": str(locks)}

    def _command(self, member):
        return [*member.host.inside(), *super()._command(member)]

    def members_of(self, host):
        return [member for member in self.members if member.host is host]

    def lose(self, host):
        """A host without power."""
        with self.lock:
            for member in self.members_of(host):
                member.is_wanted = False
            host.kill()
            for member in self.members_of(host):
                member.process.kill()
                member.process.wait()
                self._count_crash(member)

    def revive(self, host):
        host.start()
        with self.lock:
            for member in self.members_of(host):
                self._launch(member)
                member.is_wanted = True

    def end_rest(self):
        super().end_rest()
        self.hosts.stop()
        if self.relay and self.relay.poll() is None:
            self.relay.terminate()
            self.relay.wait()
