"""Connections that read the events of a job, as pages do that show it."""

import selectors
import socket
import threading
import time

from processes import Failure


EVENT = b"event: job"


class Watchers:
    """Reads on a thread of its own, until the server has ended all of them."""

    def __init__(self, port, header, job, count):
        """`header`: by which a request says whose it is."""
        self.seen = 0
        # Not a number of events: one that is told twice must not stand for one that is not told.
        self.told = set()
        # What each connection read last, as long as it may be the beginning of an event.
        self.rests = {}
        self.selector = selectors.DefaultSelector()
        request = (
            f"GET /api/jobs/{job}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"{header}\r\n\r\n"
        ).encode()
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(request)
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ, number)
        self.count = count
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while self.selector.get_map():
            for key, _ in self.selector.select():
                data = key.fileobj.recv(65536)
                text = self.rests.get(key.fd, b"") + data
                self.rests[key.fd] = text[-len(EVENT) + 1:]
                if events := text.count(EVENT):
                    self.seen += events
                    self.told.add(key.data)
                if not data:
                    del self.rests[key.fd]
                    self.selector.unregister(key.fileobj)
                    key.fileobj.close()

    def wait_until_all_are_told(self):
        end = time.monotonic() + 30
        while len(self.told) < self.count:
            if time.monotonic() > end:
                raise Failure(f"{len(self.told)} of {self.count} watchers were told of the job within 30 s")
            time.sleep(0.01)

    def wait_until_ended(self):
        """Returns how many events they have read."""
        self.thread.join(30)
        if self.thread.is_alive():
            raise Failure("watchers are not sent away by the job's end")
        return self.seen
