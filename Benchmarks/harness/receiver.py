"""The receiver's other end: its counters, and the arrivals that it reports by itself."""

import json
import queue
import subprocess
import threading

from processes import Failure

# As the receiver knows it: an APNs token that begins so is reported when it arrives.
TRACE = "bbbbbbbb"


def traced_token(number):
    return f"{TRACE}{number:016x}".ljust(64, "0")


class Receiver:
    def __init__(self, processes, folder, name="receiver"):
        self.name = name
        command = [folder / "receiver", 0, folder / "server.pem", folder / "server.key"]
        self.process = processes.start(name, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.arrivals = queue.Queue()
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.port = self._answer()["port"]

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            (self.arrivals if "arrived" in message else self.answers).put(message)
        self.answers.put(None)

    def _answer(self):
        try:
            answer = self.answers.get(timeout=30)
        except queue.Empty:
            answer = None
        if answer is None:
            raise Failure(f"the receiver does not answer; its log is {self.name}.log")
        return answer

    def ask(self, word):
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()
        return self._answer()

    def reset(self):
        self.ask("reset")
        while not self.arrivals.empty():
            self.arrivals.get()

    def answer_fcm(self, how):
        """From now on: `200`, `503`, `400` or `silent`."""
        self.ask(f"fcm {how}")

    def counts(self):
        return self.ask("counts")

    def sample(self):
        """Headers without the pseudo-headers, as pairs, and the body of the first request."""
        sample = self.ask("sample")
        pairs = [line.split(": ", 1) for line in sample["headers"].splitlines()]
        return [(name, value) for name, value in pairs if not name.startswith(":")], sample["body"]

    def arrival(self, number, seconds):
        """When the traced device was reached, in nanoseconds of the monotonic clock."""
        while True:
            try:
                message = self.arrivals.get(timeout=seconds)
            except queue.Empty:
                raise Failure(f"a single send did not arrive within {seconds} s") from None
            if message["arrived"] == number:
                return message["at"]
