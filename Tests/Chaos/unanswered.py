"""How many pushes had no answer, as the delivery workers count them themselves: each of them may have arrived, and is sent again."""

import http.client
import re
import threading
import time
import urllib.request

# Seconds between two looks: a process that ends takes with it what it has counted since the last one.
PAUSE = 0.5
COUNT = re.compile(r'^pushline_push_requests_total\{[^}]*class="unanswered"[^}]*\} ([0-9.e+]+)$', re.MULTILINE)


class Unanswered:
    def __init__(self, members):
        self.members = members
        # (name, id of its process) -> the latest number.
        self.counts = {}
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def count(self):
        return round(sum(self.counts.values()))

    def _run(self):
        while True:
            for member in self.members:
                self._read(member)
            time.sleep(PAUSE)

    def _read(self, member):
        process = member.process.pid
        try:
            with urllib.request.urlopen(f"http://{member.address}:{member.port}/metrics", timeout=2) as answer:
                text = answer.read().decode()
        except (OSError, ValueError, http.client.HTTPException):
            # It is away, or cut off: its next answer has all.
            return
        if member.process.pid == process:
            self.counts[member.name, process] = sum(float(number) for number in COUNT.findall(text))
