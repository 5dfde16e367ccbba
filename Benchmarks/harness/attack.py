"""Signs in with invented names, so many a second, from 127.0.0.2 to 127.0.0.100.

It writes a line when each address has been wrong, and at SIGTERM another: what it was answered, as JSON.

Usage: attack.py PORT PER_SECOND
"""

import asyncio
import base64
import collections
import json
import signal
import sys
import time

ADDRESSES = [f"127.0.0.{number}" for number in range(2, 101)]
# Between two looks at how many are due.
TICK = 0.02


class Attack:
    def __init__(self, port):
        self.port = port
        self.begun = 0
        self.statuses = collections.Counter()
        # Addresses that were not answered 401 yet.
        self.new = set(ADDRESSES)
        # Connections that wait for something to ask, of each address.
        self.idle = collections.defaultdict(list)
        self.tasks = set()

    async def run(self, per_second, end):
        start = time.monotonic()
        while not end.is_set():
            due = int((time.monotonic() - start) * per_second)
            while self.begun < due:
                task = asyncio.create_task(self.sign_in(self.begun))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
                self.begun += 1
            await asyncio.sleep(TICK)
        return time.monotonic() - start

    async def sign_in(self, number):
        """One try, on a connection that is free or a new one: who waits for an answer keeps nobody from trying."""
        address = ADDRESSES[number % len(ADDRESSES)]
        login = base64.b64encode(b"invented%d:%d" % (number, number)).decode()
        request = f"GET /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {login}\r\n\r\n"
        idle = self.idle[address]
        try:
            if idle:
                reader, writer = idle.pop()
            else:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
            writer.write(request.encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            idle.append((reader, writer))
            status = head.split(b" ")[1].decode()
            self.statuses[status] += 1
            if status == "401" and address in self.new:
                self.new.remove(address)
                if not self.new:
                    print("under way", flush=True)
        except (OSError, asyncio.IncompleteReadError):
            self.statuses["broken off"] += 1


async def main(port, per_second):
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    attack = Attack(port)
    seconds = await attack.run(per_second, end)
    print(json.dumps({"begun": attack.begun, "seconds": seconds, **attack.statuses}), flush=True)
    for task in attack.tasks:
        task.cancel()


asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
