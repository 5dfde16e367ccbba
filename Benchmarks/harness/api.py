"""A client of Pushline's API, over one connection."""

import http.client
import json
import socket
import time

from processes import Failure

FINAL_TIMEOUT = 600
# The server closes a connection that has nothing to say for longer.
IDLE_SECONDS = 5


class API:
    def __init__(self, port, key):
        self.port = port
        self.key = key
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.used = time.monotonic()

    def request(self, method, path, body=None, media_type="application/json", accepted=(200, 202)):
        headers = {"Authorization": f"Bearer {self.key}"}
        if body is not None:
            headers["Content-Type"] = media_type
        self._connect()
        self.connection.request(method, path, body=body, headers=headers)
        return self._answer(f"{method} {path}", self.connection.getresponse(), accepted)

    def _connect(self):
        if time.monotonic() - self.used > IDLE_SECONDS:
            self.connection.close()
        if self.connection.sock is None:
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.used = time.monotonic()

    def _answer(self, what, response, accepted=(200, 202)):
        text = response.read()
        if response.status not in accepted:
            raise Failure(f"{what} was answered {response.status}: {text[:300].decode(errors='replace')}")
        return text

    def send(self, message):
        return json.loads(self.request("POST", "/api/sends", json.dumps(message)))["id"]

    def begin_send(self, message):
        """Sends a request in one piece, so that what this client does is not in the time of what it measures.

        Returns when it began, in nanoseconds of the monotonic clock; `end_send` takes the answer.
        """
        body = json.dumps(message)
        request = (
            f"POST /api/sends HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()
        self._connect()
        start = time.monotonic_ns()
        self.connection.sock.sendall(request)
        return start

    def end_send(self):
        response = http.client.HTTPResponse(self.connection.sock, method="POST")
        response.begin()
        self._answer("POST /api/sends", response)

    def send_many(self, lines):
        text = self.request("POST", "/api/sends/batch", "".join(lines), "application/x-ndjson")
        return [json.loads(line) for line in text.splitlines()]

    def job(self, job):
        return json.loads(self.request("GET", f"/api/jobs/{job}"))

    def wait_until_final(self, job, pause=0.02):
        end = time.monotonic() + FINAL_TIMEOUT
        while time.monotonic() < end:
            found = self.job(job)
            if found["isFinal"]:
                return found
            time.sleep(pause)
        raise Failure(f"job {job} is not final after {FINAL_TIMEOUT} s")
