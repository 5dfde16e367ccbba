"""The console open on a send to all: pages of the overview and of that send, as browsers with them ask."""

import collections
import http.client
import json
import re
import selectors
import socket
import statistics
import threading
import time

import registrations
from messages import MESSAGE
from processes import Failure
from watchers import Watchers

# Browsers that show the overview, and as many that show the send.
PAGES = 20
# Seconds between two looks of a page (overview.js).
PAUSE = 2
# Sends without and with the pages, in turn.
PAIRS = 3

Run = collections.namedtuple("Run", "rate reads seconds")


class Overviews:
    """Pages of the overview: each asks, and asks again two seconds after its answer, over a connection of its own."""

    def __init__(self, port, cookie, count):
        self.answers = 0
        self.failure = None
        self.isEnding = False
        self.request = (
            f"GET /api/overview HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\r\n"
        ).encode()
        self.selector = selectors.DefaultSelector()
        # When each asks next; begun one after the other, as by people.
        self.due = {}
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ, bytearray())
            self.due[connection] = time.monotonic() + number * PAUSE / count
        self.thread = threading.Thread(target=self._ask, daemon=True)
        self.thread.start()

    def _ask(self):
        try:
            while not self.isEnding:
                now = time.monotonic()
                for connection in [connection for connection, due in self.due.items() if due <= now]:
                    connection.sendall(self.request)
                    del self.due[connection]
                wait = min(self.due.values(), default=now + 0.1) - now
                for key, _ in self.selector.select(max(0.001, min(wait, 0.1))):
                    self._read(key)
        except (OSError, Failure) as error:
            self.failure = error
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def _read(self, key):
        data = key.fileobj.recv(1 << 20)
        key.data.extend(data)
        head, found, body = key.data.partition(b"\r\n\r\n")
        if found:
            length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
            if not head.startswith(b"HTTP/1.1 200") or not length:
                raise Failure(f"an overview was answered {head[:200]!r}")
            if len(body) >= int(length.group(1)):
                self.answers += 1
                key.data.clear()
                self.due[key.fileobj] = time.monotonic() + PAUSE
                return
        if not data:
            raise Failure("the server ended the connection of an overview")

    def wait_until_all_are_answered(self, count):
        end = time.monotonic() + 30
        while self.answers < count:
            if self.failure or time.monotonic() > end:
                raise Failure(f"{self.answers} of {count} overviews were answered: {self.failure}")
            time.sleep(0.01)

    def end(self):
        self.isEnding = True
        self.thread.join(10)
        if self.failure:
            raise Failure(f"the pages could not go on: {self.failure}")


class Console:
    def __init__(self, figures):
        self.figures = figures
        self.installation = figures.installation
        self.devices = int(registrations.APNS_DEVICES * figures.options.scale)

    def measure(self):
        """A send to all without the console, and with it open: what that takes of the speed, and how often the store is read for it."""
        port, cookie = self.installation.console_port, self._sign_in()
        pairs = [(self._fan_out(), self._watched_fan_out(port, cookie)) for _ in range(PAIRS)]
        reads = sum(watched.reads for _, watched in pairs) / sum(watched.seconds for _, watched in pairs)
        self.figures.say(f"  with {PAGES} overviews and {PAGES} pages of the send: {reads:.2f} reads of the store a second")
        return {
            "console_ratio": statistics.median(watched.rate / alone for alone, watched in pairs),
            "console_reads_per_s": reads,
        }

    def _sign_in(self):
        """The cookie of an operator's session."""
        port, password = self.installation.console_port, self.installation.operator()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        body = json.dumps({"user": "operator", "password": password})
        connection.request("POST", "/api/session", body, {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 201:
            raise Failure(f"signing in to the console was answered {answer.status}: {text[:300]}")
        cookie = answer.getheader("Set-Cookie").split(";")[0]
        connection.close()
        return cookie

    def _send(self):
        return self.installation.api.send({"to": {"tag": registrations.EVERYONE}, "services": ["apns"], **MESSAGE})

    def _fan_out(self):
        return self.figures.fan_out(self._send, "apns", self.devices)

    def _watched_fan_out(self, port, cookie):
        overviews = Overviews(port, cookie, PAGES)
        try:
            overviews.wait_until_all_are_answered(PAGES)
            begun = []

            def begin():
                job = self._send()
                watchers = Watchers(port, f"Cookie: {cookie}\r\nSec-Fetch-Site: same-origin", job, PAGES)
                watchers.wait_until_all_are_told()
                begun.append((watchers, self._reads(), time.monotonic()))
                return job

            rate = self.figures.fan_out(begin, "apns", self.devices)
            watchers, reads, start = begun[0]
            reads, seconds = self._reads() - reads, time.monotonic() - start
            watchers.wait_until_ended()
        finally:
            overviews.end()
        return Run(rate, reads, seconds)

    def _reads(self):
        """For all who watch jobs or look at overviews; who asks is looked up besides."""
        return sum(self.installation.counter(f"pushline_{name}_reads_total") for name in ("job_watch", "overview"))
