"""What a device of a campaign costs with the programs of one, two and three hosts: deploy/chaos --spread prepares what it needs. The model of
docs/scale.md takes the costs as they are on one host, and adds them up."""

import collections
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time

import script
from clustered import PORTS, ClusteredInstallation
from devices import apns_token
from installation import Failure
from script import DRAIN, say

EVERYONE = {"to": {"tag": "everyone"}, "services": ["apns"], "body": "One message for every device, about as long as people write them."}
# Seconds until a campaign must be over.
OVER = 600
# What the processes of a host are called there (comm has 15 letters), by what they are part of.
PARTS = {
    "pushline-api": "api",
    "pushline-send-w": "send-worker",
    "pushline-delive": "delivery-worker",
    "pushline-regist": "register-worker",
    "beam.smp": "broker",
    "postgres": "postgresql",
    "etcd": "etcd, Patroni",
    "patroni": "etcd, Patroni",
}
OURS = ("api", "send-worker", "delivery-worker", "register-worker")
TICKS = os.sysconf("SC_CLK_TCK")


def arguments():
    parser = script.parser(__doc__, accounts=0, devices=8000, server=None)
    parser.add_argument("--campaign", type=int, default=200_000, help="devices that are registered and sent to (%(default)s)")
    return parser.parse_args()


class PlainInstallation(ClusteredInstallation):
    def _declare(self):
        """Nothing but the app: as it is shipped, devices that were reached have no row."""
        self.cli("apps", "apply", self.folder / "simulator" / "apps.yaml")
        self.key = self.cli("keys", "create", "spread", "--role", "operator").strip()


class Spread:
    def __init__(self, options):
        self.options = options
        self.installation = PlainInstallation(options, say)

    def go(self):
        say("Starting three hosts, with etcd, Patroni, PostgreSQL, RabbitMQ and each program on each ...")
        self.installation.start()
        self._register()
        measured = self._measured()
        say(f"{'hosts':<6} {'devices/s':>10}  " + "  ".join(f"{part:>15}" for part in (*dict.fromkeys(PARTS.values()), "programs")))
        hosts = self.installation.hosts.all
        programs = {}
        for count in (3, 2, 1):
            for host in hosts[count:]:
                self._end(host)
            # The first opens connections, and learns.
            self._campaign()
            rate, spent = self._campaign()
            programs[count] = sum(spent[part] for part in OURS)
            self._say(count, rate, spent, programs[count])
        self._say("model", None, measured, sum(measured.get(part, 0) for part in OURS))
        say(json.dumps({"devices": self.options.campaign, "programs_us": {count: round(cost, 3) for count, cost in sorted(programs.items())}}))
        return 0

    def _say(self, name, rate, spent, programs):
        parts = dict.fromkeys(PARTS.values())
        costs = [*(spent.get(part, 0) for part in parts), programs]
        say(f"{name!s:<6} {f'{rate:,.0f}' if rate else '':>10}  " + "  ".join(f"{cost:>15.2f}" for cost in costs))

    def _register(self):
        file = self.installation.folder / "devices.ndjson"
        with file.open("w") as lines:
            for number in range(self.options.campaign):
                device = {"service": "apns", "handle": apns_token(number), "user": f"user{number:07d}", "tags": ["everyone"]}
                lines.write(json.dumps(device) + "\n")
        begin = time.monotonic()
        api = self.installation.hosts.all[0]
        words = [self.installation.bin / "pushline", "registrations", "import", file]
        environment = {"PUSHLINE_URL": f"http://{api.address}:{PORTS['api']}", "PUSHLINE_KEY": self.installation.key}
        done = subprocess.run(
            [str(word) for word in words], env={**self.installation.base_environment(), **environment}, capture_output=True, text=True, timeout=OVER
        )
        if done.returncode != 0:
            raise Failure(f"the devices cannot be registered: {done.stderr.strip()[-300:]}")
        say(f"{self.options.campaign:,} devices registered in {time.monotonic() - begin:.0f} s.")

    def _measured(self):
        """What deploy/bench --capacity has measured with one of each program."""
        for line in (pathlib.Path(self.options.root) / "Benchmarks" / "capacity.json").read_text().splitlines():
            found = json.loads(line)
            if found["store"] == "postgresql":
                return found["cpu_us"]["device_apns"]
        raise Failure("Benchmarks/capacity.json has nothing of PostgreSQL")

    def _end(self, host):
        """The programs of a host; its servers stay."""
        for member in self.installation.members_of(host):
            with self.installation.lock:
                member.is_wanted = False
                if member.process.poll() is not None:
                    continue
                member.process.terminate()
            member.process.wait(DRAIN)

    def _campaign(self):
        """Sends to all devices; devices a second, and microseconds of CPU a device by part."""
        before, begin = self._cpu(), time.monotonic()
        job = self._ask("POST", "/api/sends", EVERYONE)["id"]
        while not (found := self._ask("GET", f"/api/jobs/{job}"))["isFinal"]:
            if time.monotonic() - begin > OVER:
                raise Failure(f"the job {job} is not final after {OVER} s: {found['totals']}")
            time.sleep(0.1)
        seconds, after = time.monotonic() - begin, self._cpu()
        if found["totals"]["accepted"] != self.options.campaign:
            raise Failure(f"{self.options.campaign} devices were meant; the job says {found['totals']}")
        spent = {part: (after[part] - before[part]) / self.options.campaign * 1e6 for part in after}
        return self.options.campaign / seconds, spent

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.installation.hosts.all[0].address, PORTS["api"], timeout=60)
        headers = {"Authorization": f"Bearer {self.installation.key}", "Content-Type": "application/json"}
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status not in (200, 202):
            raise Failure(f"{method} {path} was answered {answer.status}: {text[:300].decode(errors='replace')}")
        return json.loads(text)

    def _cpu(self):
        """Seconds of CPU so far by part, on all hosts together."""
        used = collections.Counter(dict.fromkeys(PARTS.values(), 0.0))
        for host in self.installation.hosts.all:
            for pid in host.pids():
                try:
                    name, _, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
                except OSError:
                    continue
                if name in PARTS:
                    fields = rest.split()
                    used[PARTS[name]] += (int(fields[11]) + int(fields[12])) / TICKS
        return used


if __name__ == "__main__":
    sys.exit(script.main(arguments(), Spread))
