"""The store's server is killed in the middle of a send to all: whether the counts are exact, and how long nothing goes out."""

import threading
import time

import registrations
from processes import Failure

# Seconds until the job is to be final.
LIMIT = 600


class Crash:
    def __init__(self, figures, message):
        self.installation = figures.installation
        self.message = message
        self.devices = int(registrations.APNS_DEVICES * figures.options.scale)
        self.say = figures.say
        self.restarted = None

    def measure(self):
        receiver = self.installation.receiver
        receiver.reset()
        message = {"to": {"tag": registrations.EVERYONE}, "services": ["apns"], **self.message}
        job = self.installation.api.send(message)
        start = last = asked = time.monotonic()
        killed, seen, gap, final = None, 0, 0.0, None
        while final is None:
            now, count = time.monotonic(), receiver.counts()["apns"]
            if count > seen:
                gap = max(gap, now - last) if killed else gap
                seen, last = count, now
            if killed is None and count > self.devices / 2:
                killed = now
                threading.Thread(target=self._kill, daemon=True).start()
            if now - asked > 0.5:
                final, asked = self._final(job), time.monotonic()
            if now - start > LIMIT:
                raise Failure(f"the job is not final {LIMIT} s after its begin")
            time.sleep(0.01)
        if killed is None or self.restarted is None:
            raise Failure("all was sent before the server was killed and started again")
        totals, received = final["totals"], receiver.counts()["apns"]
        if totals["targets"] != self.devices or totals["accepted"] != self.devices or received < self.devices:
            raise Failure(f"{self.devices} devices were meant; the job says {totals}, the receiver {received}")
        self.say(
            f"  {self.devices} devices, all counted once; {received - self.devices} got a copy; the server took writes again "
            f"{self.restarted - killed:.1f} s after its end, and nothing went out for {gap:.1f} s"
        )
        return {"crash_gap_s": gap}

    def _kill(self):
        self.installation.store.shell('postgres_kill "$D" && postgres_again "$D"')
        self.restarted = time.monotonic()

    def _final(self, job):
        """The job, where it is final; it cannot be read while the server is away."""
        try:
            found = self.installation.api.job(job)
        except Failure:
            return None
        return found if found["isFinal"] else None
