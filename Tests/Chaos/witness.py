"""What the push services accepted, push by push."""

import http.client
import json
import threading
import time
import urllib.request

import native

# Pushes that are asked for at a time.
PAGE = 1000


class Witness:
    """Reads the simulator's list of accepted pushes while it grows, and what was in those that have a form of the sender's own."""

    def __init__(self, control, sends):
        self.control = control
        # marker -> what is known of the send.
        self.sends = sends
        self.next = self.next_received = 0
        # (service, handle, marker of the message) of native pushes -> what each copy had otherwise than its form, or None.
        self.native = {}
        # (service, handle, marker of the message) -> ids of the copies that came, in their order.
        self.seen = {}
        self.count = 0
        # When more had come.
        self.moments = []
        self.is_running = True
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while self.is_running:
            try:
                self.read()
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.error = f"the simulator's list cannot be read: {error}"
                return
            time.sleep(0.5)

    def read(self):
        has_native, before = False, self.count
        while True:
            url = f"{self.control}/deliveries?since={self.next}&limit={PAGE}"
            with urllib.request.urlopen(url, timeout=60) as answer:
                lines = answer.read().splitlines()
            for line in lines:
                push = json.loads(line)
                if push.get("dropped"):
                    raise ValueError("it had to drop pushes before they were read")
                self.next = push["index"] + 1
                self.count += 1
                key = (push["service"], push["token"], push["marker"])
                self.seen.setdefault(key, []).append(push["id"])
                has_native = has_native or self._form(push["service"], push["marker"]) is not None
            if len(lines) < PAGE:
                break
        if self.count > before:
            self.moments.append(time.monotonic())
        # It keeps whole pushes for a while only.
        if has_native:
            self._read_whole()

    def _form(self, pns, marker):
        send = self.sends.get(marker)
        return send["native"].get(pns) if send else None

    def _read_whole(self):
        while True:
            url = f"{self.control}/received?since={self.next_received}&limit={PAGE}"
            with urllib.request.urlopen(url, timeout=60) as answer:
                pushes = json.loads(answer.read())
            for push in pushes:
                self.next_received = push["index"] + 1
                marker = native.marker_of(push["body"])
                form = self._form(push["service"], marker)
                if form is not None and push["status"] == 200:
                    key = (push["service"], push["token"], marker)
                    self.native.setdefault(key, []).append(native.difference(push["service"], form, push))
            if len(pushes) < PAGE:
                return

    def stop(self):
        self.is_running = False
        self.thread.join(120)
        self.read()
