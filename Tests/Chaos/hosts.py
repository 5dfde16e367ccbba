"""Three hosts on this machine: each a network, mount and UTS namespace with folders of its own in the place of the system's, and on each etcd,
Patroni with PostgreSQL, and RabbitMQ, set up as docs/many-hosts.md says. Their bridge is in the namespace of whoever makes them, who is root."""

import base64
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

ADDRESSES = {"one": "10.77.0.1", "two": "10.77.0.2", "three": "10.77.0.3"}
HERE = "10.77.0.100"
# Which of a host's own folders stand in the place of the system's, and whose they are.
FOLDERS = {
    "/etc/default": "root",
    "/etc/patroni": "postgres",
    "/etc/rabbitmq": "rabbitmq",
    "/etc/systemd/system": "root",
    "/var/lib/etcd": "etcd",
    "/var/lib/postgresql": "postgres",
    "/var/lib/rabbitmq": "rabbitmq",
    "/var/log/rabbitmq": "rabbitmq",
    "/run/postgresql": "postgres",
}
# Seconds until what has ended is started again, as `configure` tells the units.
RESTART = 3


def run(*words, **options):
    """Runs a command that must succeed; what it prints."""
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words[:4]))}: {(result.stderr or result.stdout).strip()[-300:]}")
    return result.stdout


class Host:
    def __init__(self, name, folder, logs):
        self.name = name
        self.address = ADDRESSES[name]
        self.folder = folder / name
        self.logs = logs
        self.lock = threading.RLock()
        # name -> process; those that are to run.
        self.processes = {}
        self.ended = {}
        self._make_folders()
        self._make_namespaces()

    # ---- The machine ----

    def _make_folders(self):
        for place, owner in FOLDERS.items():
            own = self.folder / place.strip("/").replace("/", "-")
            own.mkdir(parents=True)
            pathlib.Path(place).mkdir(parents=True, exist_ok=True)
            shutil.chown(own, owner)
        # Half of the system's default for Raft's log, as three nodes share this machine.
        (self.folder / "etc-rabbitmq" / "conf.d").mkdir()
        (self.folder / "etc-rabbitmq" / "conf.d" / "30-small.conf").write_text("raft.wal_max_size_bytes = 67108864\n")

    def _make_namespaces(self):
        """The process whose namespaces are the host's: with it and all others of the host they are gone."""
        binds = "".join(f'mount --bind "{self.folder / place.strip("/").replace("/", "-")}" {place}\n' for place in FOLDERS)
        script = f"set -e\n{binds}hostname {self.name}\nip link set lo up\necho ready\nexec sleep infinity\n"
        words = ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c", script]
        self.holder = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"the namespaces of {self.name} cannot be made")
        pid = self.holder.pid
        self.network = os.readlink(f"/proc/{pid}/ns/net")
        run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", pid)
        run("ip", "link", "set", self.name, "master", "hosts", "up")
        run(*self.inside(), "ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        run(*self.inside(), "ip", "link", "set", "eth0", "up")

    def inside(self, user=None):
        """The words that make a command one of this host's."""
        words = ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--uts"]
        if user:
            words += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return words

    def pids(self, name=None):
        """The ids of the host's processes, or of those that are called so."""
        found = []
        # The number of a namespace that is gone may be another's.
        if self.holder.poll() is not None:
            return found
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self.holder.pid:
                continue
            try:
                if os.readlink(f"/proc/{entry}/ns/net") != self.network:
                    continue
                if name is None or pathlib.Path(f"/proc/{entry}/comm").read_text().strip() == name:
                    found.append(int(entry))
            except OSError:
                pass
        return found

    @staticmethod
    def signal_all(pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def plug(self, is_in):
        """The cable: without it nobody hears of this host, nor it of anybody, and nothing tells either of them."""
        run("ip", "link", "set", self.name, "up" if is_in else "down")

    def kill(self):
        """All at once, as without power."""
        with self.lock:
            processes, self.processes = self.processes, {}
        # One that was just started may not be in its namespaces yet.
        for process in processes.values():
            process.kill()
        while pids := self.pids():
            self.signal_all(pids, signal.SIGKILL)
            time.sleep(0.02)

    def remove(self):
        self.kill()
        self.holder.kill()
        self.holder.wait()

    # ---- What the system starts ----

    def start(self):
        for name in ("etcd", "rabbitmq", "rejoin", "patroni"):
            self.launch(name)

    def launch(self, name):
        user, words, environment = getattr(self, f"_{name}")()
        with self.lock, (self.logs / f"{name}-{self.name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*self.inside(user), *words], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )

    def watch(self):
        """Starts again what has ended."""
        with self.lock:
            for name, process in list(self.processes.items()):
                if process.poll() is None:
                    continue
                since = self.ended.setdefault(name, time.monotonic())
                if time.monotonic() - since >= RESTART:
                    del self.ended[name]
                    self.launch(name)

    def end(self, name):
        """Kills one, which is not started again."""
        with self.lock:
            process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self):
        with self.lock:
            processes, self.processes = self.processes, {}
        for process in processes.values():
            if process.poll() is None:
                process.terminate()

    def _etcd(self):
        lines = (self.folder / "etc-default" / "etcd").read_text().splitlines()
        settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        return "etcd", ["/usr/bin/etcd"], settings

    def _patroni(self):
        return "postgres", ["/usr/bin/patroni", "/etc/patroni/config.yml"], {"HOME": "/var/lib/postgresql"}

    def _rabbitmq(self):
        # The script becomes the node itself, so that its id is the node's.
        environment = {"HOME": "/var/lib/rabbitmq", "RABBITMQ_ALLOW_INPUT": "1", "RABBITMQ_SERVER_START_ARGS": "-noinput +B i"}
        return "rabbitmq", ["/usr/lib/rabbitmq/bin/rabbitmq-server"], environment

    def _rejoin(self):
        return "rabbitmq", ["/etc/rabbitmq/rejoin"], {"HOME": "/var/lib/rabbitmq"}


class Hosts:
    """The three, as one cluster."""

    def __init__(self, options, logs):
        self.options = options
        self.folder = pathlib.Path(options.folder) / "hosts"
        self.logs = logs
        self.all = []
        self.is_watching = False

    # ---- From nothing ----

    def make(self):
        self._be_a_switch()
        root = pathlib.Path(self.options.root)
        pairs = [f"{name}={address}" for name, address in ADDRESSES.items()]
        made = self.folder / "secrets"
        run(root / "deploy/postgresql/secrets", made, *pairs)
        self.authority = pathlib.Path(self.options.folder) / "ca.pem"
        shutil.copy(made / "ca.pem", self.authority)
        self.password = (made / "password").read_text().strip()
        for name in ADDRESSES:
            host = Host(name, self.folder, self.logs)
            self.all.append(host)
            shutil.copytree(made / name, host.folder / "etc-patroni", dirs_exist_ok=True)
            others = [pair for pair in pairs if not pair.startswith(f"{name}=")]
            own = next(pair for pair in pairs if pair.startswith(f"{name}="))
            run(*host.inside(), "env", "SHARED_BUFFERS=64MB", root / "deploy/postgresql/configure", own, *others)
            users = host.folder / "etc-rabbitmq" / "definitions" / "users.json"
            users.write_text(self._users())
            users.chmod(0o400)
            shutil.chown(users, "rabbitmq", "rabbitmq")
        for host in self.all:
            host.start()
        self.is_watching = True
        threading.Thread(target=self._watch, daemon=True).start()

    def _be_a_switch(self):
        """Namespaces and mounts of this process are its own: see deploy/lib/cluster.sh."""
        self.folder.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.folder)
        names = "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
        (self.folder / "names").write_text(f"127.0.0.1 localhost\n{HERE} clients\n{names}")
        run("mount", "--bind", self.folder / "names", "/etc/hosts")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "hosts", "type", "bridge")
        run("ip", "address", "add", f"{HERE}/24", "dev", "hosts")
        run("ip", "link", "set", "hosts", "up")

    def _watch(self):
        while self.is_watching:
            for host in self.all:
                host.watch()
            time.sleep(0.2)

    def stop(self):
        self.is_watching = False
        for host in self.all:
            host.stop()
        end = time.monotonic() + 10
        while any(host.pids() for host in self.all) and time.monotonic() < end:
            time.sleep(0.1)
        for host in self.all:
            host.remove()

    def _users(self):
        """The programs' user, as definitions have it: rabbitmqctl would start an Erlang for each word about it."""
        salt = secrets.token_bytes(4)
        digest = base64.b64encode(salt + hashlib.sha256(salt + self.password.encode()).digest()).decode()
        user = {"name": "pushline", "tags": ["monitoring"], "hashing_algorithm": "rabbit_password_hashing_sha256", "password_hash": digest}
        rights = {"user": "pushline", "vhost": "pushline", "configure": ".*", "write": ".*", "read": ".*"}
        return json.dumps({"users": [user], "permissions": [rights]})

    # ---- How they are ----

    def patroni(self, but=None):
        """What Patroni says of its members, on any other host than that: name -> its entry; nothing where nobody answers."""
        for host in self.all:
            if host is but:
                continue
            try:
                with urllib.request.urlopen(f"http://{host.address}:8008/cluster", timeout=2) as answer:
                    return {member["name"]: member for member in json.loads(answer.read())["members"]}
            except (OSError, ValueError):
                pass
        return {}

    def of_role(self, role):
        """The host whose server is leader, sync_standby or replica."""
        for name, member in self.patroni().items():
            if member["role"] == role:
                return next(host for host in self.all if host.name == name)
        raise RuntimeError(f"no server is {role}")

    def lacks(self):
        """What is not as it should be; an empty text where nothing is."""
        members = self.patroni()
        if sorted(member["role"] for member in members.values()) != ["leader", "replica", "sync_standby"]:
            return f"servers are {sorted(member['role'] for member in members.values())}"
        if away := [name for name, member in members.items() if member["state"] not in ("running", "streaming")]:
            return f"the server of {away[0]} is {members[away[0]]['state']}"
        if len({member.get("timeline") for member in members.values()}) > 1:
            return "servers are on several timelines"
        for host in self.all:
            try:
                nodes = self.management(host, "nodes?columns=name,running,partitions")
                queues = self.management(host, "queues/pushline?disable_stats=true&columns=name,members,online")
            except (OSError, ValueError) as error:
                return f"RabbitMQ of {host.name}: {error}"
            if sum(node["running"] and not node.get("partitions") for node in nodes) < len(self.all):
                return f"RabbitMQ of {host.name} does not see all nodes"
            if [queue for queue in queues if len(queue.get("online", [])) < len(queue.get("members", []))]:
                return f"RabbitMQ of {host.name} has queues whose members are away"
        return ""

    def management(self, host, path):
        manager = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        url = f"http://{host.address}:15672/api/{path}"
        manager.add_password(None, url, "pushline", self.password)
        opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(manager))
        with opener.open(url, timeout=5) as answer:
            return json.loads(answer.read())

    def await_whole(self, seconds):
        end = time.monotonic() + seconds
        while words := self.lacks():
            if time.monotonic() > end:
                raise RuntimeError(f"after {seconds} s {words}")
            time.sleep(0.5)
