"""What returning users and newcomers get while strangers try invented names."""

import base64
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import secrets
import subprocess
import sys
import threading
import time

import load
from processes import Failure

USERS = 1000
ATTEMPTS_PER_SECOND = 500
# What passwords cost by default; one password for all, each hash with a salt of its own.
COST = {"n": 1 << 14, "r": 8, "p": 5, "maxmem": 64 << 20, "dklen": 32}
PASSWORD = "correct horse battery"
HARNESS = pathlib.Path(__file__).parent


def hash_password():
    salt = secrets.token_bytes(16)
    derived = hashlib.scrypt(PASSWORD.encode(), salt=salt, **COST)
    return "scrypt$16384$8$5$" + base64.b64encode(salt).decode() + "$" + base64.b64encode(derived).decode()


def basic(name):
    return "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()


class SignIns:
    def __init__(self, installation, options, say):
        self.installation = installation
        self.options = options
        self.say = say
        self.newcomers = 0
        self.url = f"http://127.0.0.1:{installation.api.port}"

    def figures(self):
        installation = self.installation
        users = [f"returning{number:04d}" for number in range(USERS)]
        newcomers = self._newcomers(20 if self.options.quick else 40)
        # One hash for all who return: a password and a hash that were found to fit need not be computed again.
        shared = hash_password()
        self._add({name: shared for name in users} | newcomers)
        # The same small answer for all: the less there is to do beside signing in, the more that weighs.
        path = f"/api/jobs/{self._job()}"
        alone = self._sign_in(users[0], path)
        files = {"basic": map(basic, users), "key": [f"Bearer {installation.api.key}"] * USERS}
        for name, lines in files.items():
            (installation.folder / name).write_text("".join(line + "\n" for line in lines))
        with self._attack():
            rates = {name: [] for name in files}
            for _ in range(3):
                for name in files:
                    rates[name].append(self._load(path, name))
            taken = self._first_sign_ins(newcomers, path)
        key, returning = (sum(rates[name]) / 3 for name in ("key", "basic"))
        slowest = load.percentile(taken, 0.99)
        self.say(
            f"  returning users {returning:,.0f}/s, with a key {key:,.0f}/s; {len(taken)} first sign-ins: median "
            f"{load.percentile(taken, 0.5):.2f} s, 99 % {slowest:.2f} s; one without the attack {alone:.2f} s"
        )
        return {"signin_ratio": returning / key, "signin_first_p99_s": slowest, "signin_per_s": returning}

    def _newcomers(self, count):
        """Names that never signed in, each with a hash of its own."""
        first = self.newcomers
        self.newcomers += count
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            hashes = list(pool.map(lambda _: hash_password(), range(count)))
        return {f"newcomer{first + place:04d}": text for place, text in enumerate(hashes)}

    def _add(self, accounts):
        """Adds accounts as `pushline accounts add` does; operators, who may all look at the same job."""
        self.installation.store.change(
            "INSERT INTO account(app, name, role, password, disabled, created) "
            "SELECT number, ?, 'operator', ?, 0, ? FROM app WHERE name = 'default' "
            # Returning users are there already where this is not the first run.
            "ON CONFLICT(app, name) DO UPDATE SET password = excluded.password",
            [(name, text, int(time.time() * 1000)) for name, text in accounts.items()],
        )

    def _job(self):
        api = self.installation.api
        job = api.send({"to": {"user": "nobody"}, "title": "Benchmark"})
        api.wait_until_final(job)
        return job

    def _sign_in(self, name, path):
        """Seconds that a request with this account's password takes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.installation.api.port, timeout=60)
        start = time.monotonic()
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"Authorization": basic(name)})
            status = connection.getresponse().status
        if status != 200:
            raise Failure(f"a right password was answered {status}")
        return time.monotonic() - start

    def _load(self, path, file):
        return load.http1_rotating(self.url + path, 64, self.options.seconds, self.installation.folder / file)

    def _first_sign_ins(self, newcomers, path):
        """Seconds of each, one after the other, while those who return go on asking."""
        taken, failures = [], []

        def run():
            try:
                for name in newcomers:
                    taken.append(self._sign_in(name, path))
            except (Failure, OSError) as failure:
                failures.append(failure)

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            self._load(path, "basic")
        if failures:
            raise Failure(f"a first sign-in failed: {failures[0]}")
        return taken

    @contextlib.contextmanager
    def _attack(self):
        """Runs the attack beside the body, which begins when each address has been wrong at least once."""
        command = [sys.executable, HARNESS / "attack.py", self.installation.api.port, ATTEMPTS_PER_SECOND]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        timeout = threading.Timer(300, process.kill)
        timeout.start()
        try:
            if not process.stdout.readline():
                raise Failure("the attack did not get under way")
            timeout.cancel()
            yield
            process.terminate()
            told = json.loads(process.communicate(timeout=30)[0])
        finally:
            timeout.cancel()
            process.kill()
            process.wait()
        rate = told["begun"] / told["seconds"]
        counts = {status: count for status, count in told.items() if status not in ("begun", "seconds")}
        self.say(f"  attack: {rate:,.0f} sign-ins a second, answered {counts}")
        if rate < 0.95 * ATTEMPTS_PER_SECOND or counts.get("broken off", 0) > told["begun"] / 100:
            raise Failure("the attack was not what it was to be")
