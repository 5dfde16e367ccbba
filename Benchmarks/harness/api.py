"""A client of Pushline's API, over one connection."""

import http.client
import json
import socket
import time

from processes import Failure

FINAL_PATIENCE = 600


class API:
    def __init__(self, port, key):
        self.port = port
        self.key = key
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def request(self, method, path, body=None, media_type="application/json"):
        headers = {"Authorization": f"Bearer {self.key}"}
        if body is not None:
            headers["Content-Type"] = media_type
        if self.connection.sock is None:
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.request(method, path, body=body, headers=headers)
        response = self.connection.getresponse()
        text = response.read()
        if response.status not in (200, 202):
            raise Failure(f"{method} {path} was answered {response.status}: {text[:300].decode(errors='replace')}")
        return text

    def send(self, wish):
        return json.loads(self.request("POST", "/api/sends", json.dumps(wish)))["id"]

    def send_many(self, lines):
        text = self.request("POST", "/api/sends/batch", "".join(lines), "application/x-ndjson")
        return [json.loads(line) for line in text.splitlines()]

    def job(self, job):
        return json.loads(self.request("GET", f"/api/jobs/{job}"))

    def wait_until_final(self, job, pause=0.02):
        end = time.monotonic() + FINAL_PATIENCE
        while time.monotonic() < end:
            found = self.job(job)
            if found["isFinal"]:
                return found
            time.sleep(pause)
        raise Failure(f"job {job} is not final after {FINAL_PATIENCE} s")
