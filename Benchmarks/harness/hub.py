"""A client of `pushline-hub`, and what sending through it is compared with: the same through the API."""

import base64
import hashlib
import hmac
import http.client
import json
import ssl
import time
import urllib.parse

import load
import registrations
from processes import Failure

PAYLOAD = {"aps": {"alert": {"title": "Benchmark", "body": "One message for every device, about as long as people write them."}}}


class Hub:
    def __init__(self, connection, authority):
        """A connection string, and the file of the certificate to trust."""
        parts = dict(part.split("=", 1) for part in connection.strip().split(";"))
        self.host = parts["Endpoint"].removeprefix("sb://").rstrip("/")
        self.rule, self.key = parts["SharedAccessKeyName"], parts["SharedAccessKey"]
        self.tls = ssl.create_default_context(cafile=str(authority))

    def headers(self, tag=None):
        # One token for all requests, as the official clients keep theirs.
        audience = urllib.parse.quote(f"https://{self.host}/".lower(), safe="")
        expiry = int(time.time()) + 3600
        digest = hmac.new(self.key.encode(), f"{audience}\n{expiry}".encode(), hashlib.sha256).digest()
        signature = urllib.parse.quote(base64.b64encode(digest), safe="")
        headers = {
            "Authorization": f"SharedAccessSignature sr={audience}&sig={signature}&se={expiry}&skn={self.rule}",
            "Content-Type": "application/json;charset=utf-8",
            "ServiceBusNotification-Format": "apple",
        }
        return headers | ({"ServiceBusNotification-Tags": tag} if tag else {})

    @property
    def messages(self):
        return f"https://{self.host}/default/messages?api-version=2020-06"

    def send(self, tag=None):
        """Sends, and returns the job's id, which is the notification's."""
        connection = http.client.HTTPSConnection(self.host, timeout=60, context=self.tls)
        path = self.messages.removeprefix(f"https://{self.host}")
        connection.request("POST", path, json.dumps(PAYLOAD), self.headers(tag))
        response = connection.getresponse()
        text = response.read()
        connection.close()
        if response.status != 201:
            raise Failure(f"the hub answered {response.status}: {text[:300].decode(errors='replace')}")
        return response.headers["Location"].split("?")[0].rpartition("/")[2]


class HubFigures:
    def __init__(self, figures):
        self.figures = figures
        self.installation = figures.installation
        self.options = figures.options
        self.say = figures.say

    def measure(self):
        hub = self.installation.hub()
        # In turn, for the machine is not always equally fast.
        before = self._broadcast_by_api()
        ours = self._broadcast(hub.send)
        after = self._broadcast_by_api()
        accepted = self.figures.accept_rate()
        sends = self._sends(hub)
        return {
            "hub_ratio": sends / accepted,
            "hub_broadcast_ratio": ours / ((before + after) / 2),
            "hub_send_per_s": sends,
            "hub_broadcast_per_s": ours,
        }

    def _sends(self, hub):
        """Sends a second to one tag, from the first request until every outcome is recorded."""
        installation = self.installation
        body = installation.folder / "native.json"
        body.write_text(json.dumps(PAYLOAD))
        installation.receiver.reset()
        first, before, start = installation.last_sequence(), installation.cpu(), time.monotonic()
        # One device: the tag of its user.
        headers = hub.headers(f"username:{registrations.user(1)}")
        rate = load.http1(hub.messages, 64, self.options.seconds, body=body, headers=headers)
        self.figures.wait_for_all(600)
        seconds = time.monotonic() - start
        after, sends = installation.cpu(), installation.jobs(first)
        accepted, received = installation.accepted_devices(first), installation.receiver.counts()["apns"]
        if accepted != sends or received != sends:
            raise Failure(f"{sends} sends were taken; the outcomes say {accepted}, the receiver {received}")
        costs = ", ".join(f"{name} {(after[name] - before[name]) / sends * 1e6:.1f} us" for name in before)
        self.say(f"  through the hub: taken {rate:,.0f}/s, {sends} sends to the outcome in {seconds:.2f} s = {sends / seconds:,.0f}/s")
        self.say(f"  CPU a send: {costs}")
        return sends / seconds

    def _broadcast_by_api(self):
        """The same payload to the same devices."""
        message = {"to": {"all": True}, "services": ["apns"], "native": {"apns": {"payload": PAYLOAD}}}
        return self._broadcast(lambda: self.installation.api.send(message))

    def _broadcast(self, begin):
        count = self.installation.api.request("POST", "/api/sends/count", json.dumps({"to": {"all": True}, "services": ["apns"]}))
        devices = json.loads(count)["total"]
        return self.figures.fan_out(begin, "apns", devices)
