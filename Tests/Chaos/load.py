"""The load: devices, sends of every kind, and devices that register, by a seed; every answer is remembered."""

import base64
import collections
import datetime
import http.client
import json
import random
import socket
import threading
import time

import azure
import native
from devices import CHURNING_USERS, STATIC_USERS, Devices, apns_token, churning_name, fcm_token, user_name
from wards import Wards

# Backends that register devices on behalf of users.
BACKENDS = 3

class Client:
    """Requests of one thread, over a connection that it makes anew where it breaks: to the next of several APIs."""

    def __init__(self, installation, authorization):
        self.places = installation.places
        self.patience = installation.patience
        self.authorization = authorization
        self.connection = None
        self.place = random.randrange(len(self.places))

    def request(self, method, path, body=None, headers=None):
        if self.connection is None:
            self.place = (self.place + 1) % len(self.places)
            self.connection = http.client.HTTPConnection(*self.places[self.place], timeout=self.patience)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.connection.request(method, path, body=body, headers={"Authorization": self.authorization, **(headers or {})})
            response = self.connection.getresponse()
            text = response.read()
            # One of several that cannot do it now is left for another.
            if response.will_close or (response.status == 503 and len(self.places) > 1):
                self.close()
            return response.status, response.headers, text
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Load:
    def __init__(self, installation, options, say):
        self.installation = installation
        self.options = options
        self.say = say
        self.devices = Devices(installation.channel)
        self.lock = threading.Lock()
        self.is_running = False
        self.threads = []
        # marker -> what is known of the send; accepted = answered 2xx.
        self.sends = {}
        self.registers = {}
        self.wards = [Wards(self, number) for number in range(BACKENDS)]
        # Ids of registrations that never change.
        self.ids = []
        self.violations = []
        self.counts = collections.Counter()
        # When a send was taken.
        self.taken = []
        self.recent = collections.deque(maxlen=50)
        self.number = 0
        self.deadline = None

    # ---- Beginning and end ----

    def register_devices(self):
        client = self.client(self.installation.key)
        lines = list(self.devices.lines(self.devices.static)) + list(self.devices.lines(self.devices.churning))
        status, _, text = client.request("POST", "/api/registrations/import", "".join(lines), {"Content-Type": "application/x-ndjson"})
        if status != 200 or json.loads(text)["failed"]:
            raise RuntimeError(f"the devices were not imported: {status} {text[:300]!r}")
        status, _, text = client.request("GET", "/api/registrations/export")
        if status != 200:
            raise RuntimeError(f"the devices were not exported: {status} {text[:300]!r}")
        self.ids = [line["id"] for line in map(json.loads, text.splitlines()) if line.get("user") in self.devices.static]
        return len(lines)

    def start(self):
        self.is_running = True
        for number in range(self.options.clients):
            self._thread(self._send, number)
        for name, password in self.installation.accounts.items():
            self._thread(self._register, name, password)
        for wards in self.wards:
            self._thread(wards.run)

    def _thread(self, work, *arguments):
        def run():
            try:
                work(*arguments)
            except Exception as error:  # A bug of ours: the run is worth nothing without this thread.
                self.violate(f"the load itself failed: {error!r}")

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)

    def stop(self, timeout):
        """Ends the load; what has had no answer yet is repeated until it has, or until the timeout ends."""
        self.deadline = time.monotonic() + timeout
        self.is_running = False
        for thread in self.threads:
            thread.join(timeout + 60)
            if thread.is_alive():
                self.violate("a request had no answer in the end")

    def violate(self, words):
        with self.lock:
            self.violations.append(words)

    def client(self, key):
        return Client(self.installation, f"Bearer {key}")

    def _next(self):
        with self.lock:
            self.number += 1
            return self.number

    # ---- Requests that are repeated ----

    def insist(self, client, method, path, body, headers, may_be_late=False):
        """Repeats a request until it has an answer, as a good backend does; None where none came at all."""
        while True:
            try:
                status, answer, text = client.request(method, path, body, headers)
            except (OSError, http.client.HTTPException):
                self.counts["no answer"] += 1
                if self._is_over():
                    return None
                time.sleep(0.2)
                continue
            self.counts[f"status {status}"] += 1
            if status == 503:
                # What may have been done is repeated here as after a broken connection: no request of these does anything else then.
                if "Retry-After" not in answer and b"outcome-unknown" not in text:
                    self.violate(f"{method} {path} was answered 503 without Retry-After")
            elif status >= 500:
                self.violate(f"{method} {path} was answered {status}: {text[:200]!r}")
                return status, text
            if status not in (503, 429):
                return status, text
            if self._is_over():
                return None
            time.sleep(min(1, float(answer.get("Retry-After", 1))) * (0.3 if may_be_late else 1))

    def _is_over(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    # ---- Sends ----

    def _send(self, number):
        chance = random.Random(f"{self.options.seed} client {number}")
        client = self.client(self.installation.key)
        kinds = [self._single, self._single, self._single, self._single, self._many, self._campaign, self._batch, self._cancel, self._look]
        kinds += [self._handles, self._listed, self._native, self._activity, self.send_at_hub]
        pace = self.options.pace
        while self.is_running:
            began = time.monotonic()
            chance.choice(kinds)(client, chance)
            time.sleep(max(0, chance.uniform(0, 2 * pace) - (time.monotonic() - began)))
        client.close()

    def _message(self, chance):
        marker = f"c{self._next()}"
        message = {"title": marker, "body": "chaos", "label": marker, "ttl": self.options.ttl}
        throw = chance.random()
        if throw < 0.05:
            message["ttl"] = 0
        elif throw < 0.1:
            message["ttl"] = chance.randrange(1, 8)
        if chance.random() < 0.1:
            message["priority"] = "high"
        if chance.random() < 0.1:
            message["collapse"] = "latest"
        if chance.random() < 0.05:
            begin = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=chance.randrange(2, 12))
            message["at"] = begin.isoformat().replace("+00:00", "Z")
        return marker, message

    def _known(self, message, expected, listed=(), forms=None):
        """What is known of a send; its id, once it was accepted."""
        return {"expected": expected, "id": None, "listed": listed, "native": forms or message.get("native", {})}

    def _post(self, client, marker, message, expected, listed=(), path="/api/sends", forms=None):
        send = self._known(message, expected, listed, forms)
        with self.lock:
            self.sends[marker] = send
        answer = self.insist(
            client, "POST", path, json.dumps(message), {"Content-Type": "application/json", "Idempotency-Key": marker}
        )
        if answer is None:
            return
        status, text = answer
        if status in (200, 202):
            self.taken.append(time.monotonic())
            send["id"] = json.loads(text)["id"]
            if path == "/api/sends":
                self.recent.append(send["id"])
        else:
            self.violate(f"a send was answered {status}: {text[:200]!r}")

    def _single(self, client, chance):
        marker, message = self._message(chance)
        if chance.random() < 0.2:
            owner, expected = churning_name(chance.randrange(CHURNING_USERS)), None
        else:
            owner = user_name(chance.randrange(STATIC_USERS))
            expected = len(self.devices.static[owner])
        self._post(client, marker, {**message, "to": {"user": owner}}, expected)

    def _many(self, client, chance):
        marker, message = self._message(chance)
        owners = chance.sample(range(STATIC_USERS), chance.randrange(2, 60))
        expected = sum(len(self.devices.static[user_name(number)]) for number in owners)
        self._post(client, marker, {**message, "to": {"users": [user_name(number) for number in owners]}}, expected)

    def _campaign(self, client, chance):
        marker, message = self._message(chance)
        group = chance.randrange(7)
        tags = chance.choice(["everyone", f"group-{group}", f"everyone && !group-{group}", f"group-{group} || group-{(group + 3) % 7}"])
        self._post(client, marker, {**message, "to": {"tags": tags}}, None)

    def _handles(self, client, chance):
        """A send to handles: of registrations, of devices that nobody registered, and some twice."""
        marker, message = self._message(chance)
        count = chance.randrange(101, 1500) if chance.random() < 0.1 else chance.randrange(1, 40)
        listed = []
        for number in range(count):
            if chance.random() < 0.3:
                listed.append(chance.choice(self.devices.static[user_name(chance.randrange(STATIC_USERS))])[:2])
            elif chance.random() < 0.3:
                listed.append(("fcm", fcm_token(f"direct {marker} {number}")))
            else:
                listed.append(("apns", apns_token(f"direct {marker} {number}")))
        listed += chance.sample(listed, len(listed) // 10)
        handles = [{"service": pns, "handle": handle, "reference": f"{marker}-{place}"} for place, (pns, handle) in enumerate(listed, 1)]
        self._post(client, marker, {**message, "to": {"handles": handles}}, len(set(listed)), listed=listed)

    def _listed(self, client, chance):
        """A send to registrations, of which one is unknown, or to all."""
        marker, message = self._message(chance)
        if chance.random() < 0.2:
            return self._post(client, marker, {**message, "to": {"all": True}}, None)
        ids = chance.sample(self.ids, chance.randrange(1, 150))
        self._post(client, marker, {**message, "to": {"registrations": [*ids, "unknown", ids[0]]}}, len(ids))

    def _native(self, client, chance):
        """A send in the services' own words, for some of them or all, beside a message or in place of one."""
        marker, message = self._message(chance)
        services = chance.sample(["apns", "fcm", "wns"], chance.randrange(1, 4))
        if chance.random() < 0.5:
            reached = {"apns", "fcm", "wns"}
        else:
            reached = set(services)
            del message["title"], message["body"]
        message["native"] = native.forms(marker, chance, services)
        owners = [user_name(number) for number in chance.sample(range(STATIC_USERS), chance.randrange(1, 20))]
        if chance.random() < 0.5:
            devices = [device for owner in owners for device in self.devices.static[owner]]
            expected = sum(1 for device in devices if device[0] in reached)
            return self._post(client, marker, {**message, "to": {"users": owners}}, expected)
        listed = [device[:2] for owner in owners for device in self.devices.static[owner]]
        listed += [("apns", apns_token(f"native {marker}")), ("fcm", fcm_token(f"native {marker}"))]
        listed = [device for device in listed if device[0] in reached]
        if listed:
            handles = [{"service": pns, "handle": handle} for pns, handle in listed]
            self._post(client, marker, {**message, "to": {"handles": handles}}, len(listed), listed=listed)

    def _activity(self, client, chance):
        """A Live Activity of some devices: started by tokens that start one, then changed and ended by its own."""
        name, count = f"activity {self._next()}", chance.randrange(1, 30)
        for event in ["start", *["update"] * chance.randrange(1, 4), "end"]:
            if not self.is_running:
                return
            marker, message = self._message(chance)
            del message["title"], message["body"]
            activity, form = native.activity(marker, chance, event, "priority" in message)
            kind = "starts" if event == "start" else "has"
            listed = [("apns", apns_token(f"{kind} {name} {number}")) for number in range(count)]
            handles = [{"service": pns, "handle": handle} for pns, handle in listed]
            message = {**message, "liveActivity": activity, "to": {"handles": handles}}
            self._post(client, marker, message, count, listed=listed, forms={"apns": form})

    def send_at_hub(self, _, chance):
        """A send of the app with an Azure hub, to a user of the app that is that hub; the calls are its targets."""
        marker, message = self._message(chance)
        # What comes of it is a send of the other app, which nobody here knows.
        message["title"] = "at the hub"
        to = {"user": user_name(chance.randrange(STATIC_USERS))}
        client = self.client(self.installation.azure_key)
        self._post(client, marker, {**message, "to": to}, len(azure.SERVICES), path=azure.PATH)
        client.close()

    def _batch(self, client, chance):
        markers, lines = [], []
        for _ in range(chance.randrange(2, 30)):
            marker, message = self._message(chance)
            owner = user_name(chance.randrange(STATIC_USERS))
            markers.append((marker, self._known(message, len(self.devices.static[owner]))))
            lines.append(json.dumps({**message, "to": {"user": owner}}) + "\n")
        with self.lock:
            self.sends.update(markers)
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": markers[0][0]}
        while True:
            answer = self.insist(client, "POST", "/api/sends/batch", "".join(lines), headers)
            if answer is None:
                return
            status, text = answer
            if status != 200:
                return self.violate(f"an upload of sends was answered {status}: {text[:200]!r}")
            left = 0
            for line in map(json.loads, text.splitlines()):
                if line["status"] in (200, 202):
                    markers[line["line"] - 1][1]["id"] = line["id"]
                elif line["status"] == 503:
                    left += 1
                else:
                    return self.violate(f"a line of an upload was answered {line}")
            # The same lines under the same key: those that were accepted stay what they are.
            if not left or self._is_over():
                return
            time.sleep(0.5)

    def _cancel(self, client, chance):
        if not self.recent or chance.random() < 0.5:
            return
        job = self.recent[-1] if chance.random() < 0.5 else chance.choice(list(self.recent))
        answer = self.insist(client, "DELETE", f"/api/jobs/{job}", None, None)
        if answer and answer[0] not in (200, 202, 409):
            self.violate(f"a cancel was answered {answer[0]}: {answer[1][:200]!r}")

    def _look(self, client, chance):
        if not self.recent:
            return
        job = chance.choice(list(self.recent))
        answer = self.insist(client, "GET", f"/api/jobs/{job}", None, None)
        if answer and answer[0] != 200:
            self.violate(f"job {job} is answered {answer[0]}, though it was accepted")

    def send_calmly(self, count):
        """Sends to so many users of whom nobody is left out, when the load has ended."""
        self.deadline = time.monotonic() + 60
        chance = random.Random(f"{self.options.seed} calm")
        client, hub = self.client(self.installation.key), self.client(self.installation.azure_key)
        for number in range(count):
            devices = self.devices.static[user_name(number % STATIC_USERS)]
            listed = [("apns", apns_token(f"calm {number}")), devices[0][:2]]
            handles = [{"service": pns, "handle": handle} for pns, handle in listed]
            to_user = {"user": user_name(number % STATIC_USERS)}
            self._post_calmly(client, lambda marker: {"title": marker, "to": to_user}, len(devices))
            self._post_calmly(client, lambda marker: {"title": marker, "to": {"handles": handles}}, len(listed), listed)
            self._post_calmly(hub, lambda marker: {"title": "at the hub", "to": to_user}, len(azure.SERVICES), path=azure.PATH)
            services = sorted({device[0] for device in devices})
            self._post_calmly(client, lambda marker: {"native": native.forms(marker, chance, services), "to": to_user}, len(devices))
            self._update_calmly(client, chance, [("apns", apns_token(f"calm activity {number}"))])
        client.close()
        hub.close()

    def _update_calmly(self, client, chance, listed):
        marker = f"c{self._next()}"
        activity, form = native.activity(marker, chance, "update", False)
        to = {"handles": [{"service": pns, "handle": handle} for pns, handle in listed]}
        message = {"label": marker, "ttl": 7200, "liveActivity": activity, "to": to}
        self._post(client, marker, message, len(listed), listed=listed, forms={"apns": form})
        self.sends[marker]["must_arrive"] = True

    def _post_calmly(self, client, message, expected, listed=(), path="/api/sends"):
        marker = f"c{self._next()}"
        self._post(client, marker, {"label": marker, "ttl": 7200, **message(marker)}, expected, listed=listed, path=path)
        self.sends[marker]["must_arrive"] = True

    # ---- Devices that register, as existing apps do it ----

    def _register(self, name, password):
        chance = random.Random(f"{self.options.seed} {name}")
        login = base64.b64encode(f"{name}:{password}".encode()).decode()
        client = Client(self.installation, f"Basic {login}")
        handle = apns_token(name)
        generation = 0
        registration = None
        while self.is_running or registration is None:
            if registration is None:
                answer = self.insist(client, "POST", f"/api/register?handle={handle}", None, None, may_be_late=True)
                if answer is None:
                    return
                if answer[0] != 200:
                    return self.violate(f"no id for {name}: {answer}")
                registration = json.loads(answer[1])
            generation += 1
            body = json.dumps({"Platform": "apns", "Handle": handle, "Tags": [f"v{generation}"]})
            headers = {"Content-Type": "application/json"}
            # The last word of this device, once it was taken, is what counts in the end.
            answer = self.insist(client, "PUT", f"/api/register/{registration}", body, headers, may_be_late=True)
            if answer is None:
                return
            if answer[0] == 410:
                registration = None
                continue
            if answer[0] != 200:
                return self.violate(f"{name} was not registered: {answer}")
            self.registers[name] = (registration, generation)
            time.sleep(chance.uniform(0.2, 2))
        client.close()
