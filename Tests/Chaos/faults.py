"""What goes wrong: threads of faults side by side, each in an order that the seed gives, until the time is over."""

import collections
import http.client
import json
import pathlib
import random
import signal
import subprocess
import threading
import time
import urllib.request

import patience
from broker import QUEUES, hostile
from ground import FileFaults, ServerFaults
from installation import boot_time, programs_of_points


class Faults:
    def __init__(self, installation, broker, load, options):
        self.installation = installation
        self.broker = broker
        self.load = load
        self.devices = load.devices
        self.options = options
        self.lock = threading.Lock()
        self.is_running = False
        self.threads = []
        # name -> how often it was made, and how often it was seen to have an effect where that can be told.
        self.made = collections.Counter()
        self.hits = collections.Counter()
        self.troubles = []
        # Why there is nothing left to be broken.
        self.end = None
        # Whatever costs a delivery worker the answers of what it had under way.
        self.broker_losses = 0
        self.pauses = 0
        self.cuts = 0
        # Pushes that were accepted, and whose answer a service lost.
        self.swallowed = 0

    # ---- The threads ----

    def walk_points(self):
        """Every crash point once: its program is started with it, and must die of it."""
        # Something to be tried again, for the sweeper; and something that nobody can read, for the dead.
        self._ask("POST", "/faults", [{"service": "apns", "status": 503, "share": 0.3}])
        chance = random.Random(self.options.seed)
        for point, programs in sorted(programs_of_points().items()):
            reached = self.installation.crash_at(point, programs, lambda point=point: self._provoke(point, chance))
            self.made[f"crash at {point}"] += 1
            if not reached:
                self.troubles.append(f"no process came by the crash point {point}")
        self._ask("DELETE", "/faults")

    def _provoke(self, point, chance):
        try:
            self._meet(point, chance)
        except Exception as error:
            self.troubles.append(f"what leads to {point}: {error!r}")

    def _meet(self, point, chance):
        if point.startswith("dead."):
            self._hostile(chance)
        elif point == "register.sliced":
            # Of nobody: all parts of it are done, and find nothing.
            self._tell("/api/users/nobody", method="DELETE")
        elif point.startswith("hub."):
            self.load.send_at_hub(None, chance)
        elif point == "outbox.deferred":
            self._pause_sends()
        elif point in ("outbox.redelivered", "outbox.split"):
            self._redeliver_sends()

    def _pause_sends(self):
        """Sends come to workers that know of the pause, and give them back."""
        self._tell("/api/queues/send/pause")
        try:
            time.sleep(8)
        finally:
            self._tell("/api/queues/send/resume")

    def _redeliver_sends(self):
        """A message of several sends has been handed out twice before it comes to a worker."""
        workers = self.installation.of("send-worker")
        # A connection that is just being made would be closed by nobody, and the broker would give the messages to a worker that sleeps.
        for member in workers:
            self.installation.wait_until_ready(member, 60)
        self.broker.settled_connections()
        self.installation.stop_between_commits(workers)
        try:
            # The workers take nothing until they go on, and connect again; all others do that at once.
            self.broker_losses += 1
            self._expect(self.broker.close_connections())
            # Few sends are urgent: a backlog of others may fill the app's window, and nothing more is published.
            message = {"body": "twice", "priority": "high"}
            lines = [json.dumps({"to": {"user": owner}, **message}) + "\n" for owner in sorted(self.devices.static)]
            self.broker.hand_out_twice("pushline.send.high.v2", lambda: self._tell("/api/sends/batch", "".join(lines).encode()))
        finally:
            for member in workers:
                self.installation.signal(member, signal.SIGCONT)

    def start(self):
        self.is_running = True
        decks = [("processes", self._processes()), ("services", self._services()), ("ground", self._ground())]
        if self.options.server:
            decks.append(("server", ServerFaults(self).cards()))
        for name, deck in decks:
            thread = threading.Thread(target=self._run_deck, args=(name, deck), daemon=True)
            thread.start()
            self.threads.append(thread)

    def stop(self):
        self.is_running = False
        # One may wait for a command that is slow.
        end = time.monotonic() + 240 + patience.MOST
        for thread in self.threads:
            thread.join(end - time.monotonic())
            if thread.is_alive():
                self.troubles.append("a fault does not end")

    def _run_deck(self, name, deck):
        chance = random.Random(f"{self.options.seed} {name}")
        while self.is_running:
            cards = list(deck)
            chance.shuffle(cards)
            for title, make in cards:
                if not self.is_running:
                    return
                try:
                    # Not tried = nothing to try it with here.
                    if make(chance) is not False:
                        self.made[title] += 1
                except Exception as error:
                    self.troubles.append(f"{title}: {error!r}")
                self.rest(chance.uniform(0, 2 * self.options.rest))

    def rest(self, seconds):
        end = time.monotonic() + seconds
        while self.is_running and time.monotonic() < end:
            time.sleep(0.1)

    # ---- Processes ----

    def _processes(self):
        cards = []
        for program in ("api", "hub", "register-worker", "send-worker", "delivery-worker"):
            cards.append((f"kill -9 {program}", lambda chance, program=program: self._kill(chance, program)))
            cards.append((f"rolling restart of {program}", lambda chance, program=program: self._roll(chance, program)))
            cards.append((f"{program} stopped and continued", lambda chance, program=program: self._pause(chance, program)))
        cards += [("kill -9 delivery-worker", lambda chance: self._kill(chance, "delivery-worker"))] * 2
        cards.append(("kill -9 of everything", self._kill_all))
        return cards

    def _kill(self, chance, program):
        self.installation.kill(chance.choice(self.installation.of(program)))

    def _kill_all(self, chance):
        for member in self.installation.members:
            self.installation.kill(member)

    def _roll(self, chance, program):
        for member in self.installation.of(program):
            self.installation.restart(member, 40)
            self.installation.wait_until_ready(member, 120)

    def _pause(self, chance, program):
        member = chance.choice(self.installation.of(program))
        begin = boot_time()
        self.installation.signal(member, signal.SIGSTOP)
        if program == "delivery-worker":
            self.pauses += 1
        self.rest(chance.uniform(1, 12))
        self.installation.signal(member, signal.SIGCONT)
        self.installation.note_break(member, begin)

    # ---- Push services ----

    def _services(self):
        def at(pns, **fault):
            return {"service": pns, **fault}

        cards = []
        for pns in ("apns", "fcm", "wns"):
            cards += [
                (f"{pns}: 503 storm", at(pns, status=503, share=0.8)),
                (f"{pns}: 503, Retry-After in seconds", at(pns, status=503, retryAfter=2, share=0.5)),
                (f"{pns}: 503, Retry-After as a date", at(pns, status=503, retryAfter=2, retryAfterForm="date", share=0.5)),
                (f"{pns}: silence", at(pns, action="silence", share=0.3)),
                (f"{pns}: slow answers", at(pns, action="delay", latency=3000, share=0.5)),
                (f"{pns}: accepts and loses the answer", at(pns, action="swallow", share=0.3)),
                (f"{pns}: resets", at(pns, action="reset", share=0.3)),
                (f"{pns}: connections cut", at(pns, action="close", count=6)),
                (f"{pns}: answers that are no HTTP", at(pns, action="garbage", count=4)),
                (f"{pns}: new connections stay silent", at(pns, action="mute")),
                (f"{pns}: new connections speak no TLS", at(pns, action="plain")),
                (f"{pns}: expired certificate", at(pns, action="expiredCertificate")),
            ]
        for pns in ("apns", "fcm"):
            cards.append((f"{pns}: GOAWAY in mid-batch", at(pns, action="goaway", count=4)))
            cards.append((f"{pns}: GOAWAY, graceful", at(pns, action="goaway", graceful=True, count=4)))
            cards.append((f"{pns}: few streams", at(pns, action="settings", maxConcurrentStreams=3, count=3)))
        cards.append(("apns: 429", at("apns", reason="TooManyRequests", share=0.5)))
        cards.append(("apns: refused provider token", at("apns", reason="ExpiredProviderToken", count=20)))
        cards.append(("fcm: 429", at("fcm", reason="QUOTA_EXCEEDED", share=0.5, retryAfter=1)))
        cards.append(("fcm: token endpoint down", at("fcm", action="tokenEndpoint", status=503, error="unavailable")))
        cards.append(("wns: token endpoint refuses", at("wns", action="tokenEndpoint", status=400, error="invalid_client")))
        cards = [(title, lambda chance, title=title, fault=fault: self._service(chance, title, fault)) for title, fault in cards]
        cards.append(("devices that are gone", self._gone))
        cards.append(("access tokens revoked", self._revoke))
        return cards

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.installation.control + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _service(self, chance, title, fault):
        faults = [fault]
        if fault.get("action") in ("mute", "plain", "expiredCertificate"):
            # The connections that there are would go on: they are cut.
            faults.append({"service": fault["service"], "action": "close", "count": 3})
        if fault.get("action") == "tokenEndpoint":
            self._ask("POST", "/access-tokens/revoke")
        self._ask("POST", "/faults", faults)
        self.rest(chance.uniform(3, 9))
        for known in self._ask("GET", "/faults"):
            hits = known.get("hits", 0)
            if known.get("action", "answer") == fault.get("action", "answer"):
                self.hits[title] += hits
            if known.get("action") in ("close", "goaway", "garbage"):
                self.cuts += hits
            if known.get("action") == "swallow":
                self.swallowed += hits
        self._ask("DELETE", "/faults")

    def _gone(self, chance):
        owners = chance.sample(sorted(self.devices.churning), 3)
        faults = []
        for owner in owners:
            for pns, handle, _ in self.devices.churning[owner]:
                reason = {"apns": "Unregistered", "fcm": "UNREGISTERED", "wns": "Gone"}[pns]
                faults.append({"service": pns, "token": handle, "reason": reason})
        self._ask("POST", "/faults", faults)
        self.rest(chance.uniform(3, 6))
        self.hits["devices that are gone"] += sum(known.get("hits", 0) for known in self._ask("GET", "/faults"))
        self._ask("DELETE", "/faults")
        # The apps start again, and register their devices anew.
        lines = "".join(self.devices.lines({owner: self.devices.churning[owner] for owner in owners}))
        self._import(lines)

    def _import(self, lines):
        self._tell("/api/registrations/import", lines.encode())

    def _tell(self, path, lines=None, method="POST"):
        """A request of the operator's, until it is taken."""
        headers = {"Authorization": f"Bearer {self.installation.key}"}
        if lines is not None:
            headers["Content-Type"] = "application/x-ndjson"
        request = urllib.request.Request(f"http://127.0.0.1:{self.installation.port}{path}", lines, headers, method=method)
        for _ in range(60):
            try:
                with urllib.request.urlopen(request, timeout=40) as answer:
                    text = answer.read().decode()
                if '"status":4' in text:
                    raise RuntimeError(f"{path} refuses lines: {text[:200]}")
                return
            except (OSError, http.client.HTTPException):
                time.sleep(1)
        raise RuntimeError(f"{path} was not taken within a minute")

    def _revoke(self, chance):
        self._ask("POST", "/access-tokens/revoke")

    # ---- The ground under it: broker, store, clock, messages, credentials ----

    def _ground(self):
        return [
            ("broker killed", self._kill_broker),
            ("broker stopped and started", self._stop_broker),
            ("broker: memory alarm", lambda chance: self._alarm(chance, "broker: memory alarm", self.broker.memory_alarm)),
            ("broker: disk alarm", lambda chance: self._alarm(chance, "broker: disk alarm", self.broker.disk_alarm)),
            ("queues' leaders ended", self._leaders),
            *([] if self.options.server else FileFaults(self).cards()),
            ("clock jumps ahead", lambda chance: self._clock(chance, [3_600_000, 80_000_000, 90_000])),
            ("clock jumps back", lambda chance: self._clock(chance, [-3_600_000, -86_400_000, -90_000])),
            ("hostile messages", self._hostile),
            ("messages twice and in another order", self._shuffle),
            ("messages twice and in another order", self._shuffle),
            ("queue paused and resumed", self._pause_queue),
            ("queue paused and resumed", self._pause_queue),
            ("credentials replaced by wrong ones", self._rotate),
        ]

    def _expect(self, result):
        done, words = result
        if not done:
            raise RuntimeError(words[-300:] or "the script failed")

    def _kill_broker(self, chance):
        self._without_broker(chance, "broker killed", self.broker.kill)

    def _stop_broker(self, chance):
        self._without_broker(chance, "broker stopped and started", self.broker.stop)

    def _without_broker(self, chance, title, end):
        self.broker_losses += 1
        self._expect(end())
        self.rest(chance.uniform(0, 6))
        self.hits[title] += self.installation.broker_is("disconnected")
        try:
            self._expect(self.broker.start())
        except (RuntimeError, subprocess.TimeoutExpired):
            self.end = f"the broker does not start again; its log is under {self.broker.folder}/log"

    def _alarm(self, chance, title, switch):
        try:
            self._expect(switch(True))
            self.rest(chance.uniform(4, 12))
            self.hits[title] += self.installation.broker_is("blocked")
        finally:
            self._expect(switch(False))

    def _leaders(self, chance):
        for queue in chance.sample(QUEUES, 2):
            self._expect(self.broker.restart_leader(queue))
            self.hits["queues' leaders ended"] += 1

    def _clock(self, chance, jumps):
        # Less than a day ahead: what is to start now would be more than a day past, and is refused then.
        self.installation.jump(chance.choice(jumps))
        try:
            self.rest(chance.uniform(3, 8))
        finally:
            self.installation.jump(0)

    def _hostile(self, chance):
        self.broker.publish([hostile(chance) for _ in range(12)])
        self.hits["hostile messages"] += 12

    def _pause_queue(self, chance):
        queue = chance.choice(["register", "send", "deliver.apns", "deliver.fcm", "deliver.wns"])
        self._tell(f"/api/queues/{queue}/pause")
        try:
            self.rest(chance.uniform(2, 8))
        finally:
            self._tell(f"/api/queues/{queue}/resume")

    def _shuffle(self, chance):
        taken = 0
        for queue in chance.sample(QUEUES, len(QUEUES)):
            taken += self.broker.shuffle(queue, chance)
        self.hits["messages twice and in another order"] += taken

    def _refusals(self):
        """How often the push services have refused credentials so far."""
        counts = self._ask("GET", "/counts")
        return sum(counts[pns]["statuses"].get(status, 0) for pns in ("apns", "fcm", "wns") for status in ("401", "403"))

    def _rotate(self, chance):
        folder = self.installation.folder / "simulator"
        file = chance.choice([*folder.glob("*.p8"), folder / "service-account.json", folder / "wns-client-secret"])
        right = file.read_bytes()
        wrong = pathlib.Path(f"{file}.wrong")
        if file.suffix == ".p8":
            subprocess.run(
                ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", wrong],
                check=True,
                capture_output=True,
            )
        elif file.suffix == ".json":
            account = json.loads(right)
            account["client_email"] = "nobody@pushline-simulator.iam.gserviceaccount.com"
            wrong.write_text(json.dumps(account))
        else:
            wrong.write_text("wrong")
        try:
            # Beside and renamed, as who cares for a service does it.
            wrong.rename(file)
            refusals = self._refusals()
            self.rest(chance.uniform(4, 10))
            self.hits["credentials replaced by wrong ones"] += self._refusals() - refusals
        finally:
            wrong.write_bytes(right)
            wrong.rename(file)
