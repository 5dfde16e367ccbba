"""What a single send of an app takes while another app asks for all that it may."""

import contextlib
import json
import pathlib
import secrets
import subprocess
import sys
import time

import load
from api import API
from hub import Hub
from processes import Failure

HARNESS = pathlib.Path(__file__).parent
APP = "greedy"
# Devices of the greedy app, each with fifty tags.
DEVICES = 2000


class Neighbours:
    def __init__(self, figures):
        self.figures = figures
        self.installation = figures.installation
        self.settings = None

    def measure(self):
        alone = self._singles()
        with self._greed():
            beside = self._singles()
        self.figures.wait_for_all(600)
        slowest, usual = load.percentile(beside, 0.99), load.percentile(alone, 0.99)
        self.figures.say(
            f"  single send: median {load.percentile(alone, 0.5):.1f} ms, 99 % {usual:.1f} ms; beside a greedy app "
            f"{load.percentile(beside, 0.5):.1f} ms, {slowest:.1f} ms"
        )
        return {"neighbour_ratio": slowest / usual, "neighbour_p99_ms": slowest}

    def _singles(self):
        times = []
        for number in range(self.figures.options.singles):
            times.append(self.figures.single(number))
            time.sleep(0.02)
        return times

    @contextlib.contextmanager
    def _greed(self):
        processes = self.installation.processes
        command = [sys.executable, HARNESS / "greedy.py"]
        greedy = processes.start("greedy", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        greedy.stdin.write(json.dumps(self._settings()).encode())
        greedy.stdin.close()
        try:
            if greedy.stdout.readline().strip() != b"under way":
                raise Failure(f"the greedy app did not begin; its log is {processes.logs / 'greedy.log'}")
            yield
            greedy.terminate()
            answers = json.loads(greedy.stdout.readline())
            self.figures.say("  " + "; ".join(f"{name}: {count}" for name, count in answers.items()))
        finally:
            greedy.kill()
            greedy.wait()
            # It ended because it was asked to.
            del processes.running["greedy"]

    def _settings(self):
        """The greedy app's keys; made once."""
        if self.settings is None:
            installation = self.installation
            hub = Hub(installation.command("hub", "rules", "create", APP, "--app", APP, *self._hub_options()), self._authority)
            operator, sender = (
                installation.command("keys", "create", f"{APP}-{role}", "--app", APP, "--role", role).strip()
                for role in ("operator", "sender")
            )
            api = API(installation.api.port, operator)
            password = secrets.token_urlsafe(12)
            account = {"name": "mallory", "role": "user", "password": password}
            api.request("POST", f"/api/apps/{APP}/accounts", json.dumps(account), accepted=(201,))
            lines = "".join(
                json.dumps({"service": "apns", "handle": f"{number:064x}", "tags": [f"t{tag}" for tag in range(50)]}) + "\n"
                for number in range(DEVICES)
            )
            api.request("POST", f"/api/apps/{APP}/registrations/import", lines, "application/x-ndjson")
            self.settings = {
                "port": installation.api.port,
                "operator": operator,
                "sender": sender,
                "user": "mallory",
                "password": password,
                "hub": hub.host,
                "hub_token": hub.headers()["Authorization"],
                "authority": str(self._authority),
            }
        return self.settings

    @property
    def _authority(self):
        return self.installation.folder / "server.pem"

    def _hub_options(self):
        # The hub of the other app, at the port of the one that serves all.
        return ["--rights", "listen,send,manage", "--endpoint", self.installation.hub().host]
