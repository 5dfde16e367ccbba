"""What the push services accepted, push by push."""

import json
import threading
import time
import urllib.request


class Witness:
    """Reads the simulator's list of accepted pushes while it grows."""

    def __init__(self, control):
        self.control = control
        self.next = 0
        # (service, handle, marker of the message) -> ids of the copies that came, in their order.
        self.seen = {}
        self.count = 0
        self.is_running = True
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while self.is_running:
            try:
                self.read()
            except (OSError, ValueError) as error:
                self.error = f"the simulator's list cannot be read: {error}"
                return
            time.sleep(0.5)

    def read(self):
        while True:
            url = f"{self.control}/deliveries?since={self.next}&limit=20000"
            with urllib.request.urlopen(url, timeout=60) as answer:
                lines = answer.read().splitlines()
            for line in lines:
                push = json.loads(line)
                if push.get("dropped"):
                    raise ValueError("it had to drop pushes before they were read")
                self.next = push["index"] + 1
                self.count += 1
                key = (push["pns"], push["token"], push["marker"])
                self.seen.setdefault(key, []).append(push["id"])
            if len(lines) < 20000:
                return

    def stop(self):
        self.is_running = False
        self.thread.join(120)
        self.read()
