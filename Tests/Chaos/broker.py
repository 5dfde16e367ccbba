"""What is done to the broker: as a node, and as whoever may publish to it."""

import collections
import os
import random
import re
import subprocess
import time

import patience
import pika
import pika.exceptions

QUEUES = [
    *[f"pushline.{kind}.{priority}.v2" for kind in ("register", "send") for priority in ("high", "normal", "low")],
    *[f"pushline.deliver.{pns}.{priority}.v2" for pns in ("apns", "fcm", "wns") for priority in ("high", "normal", "low")],
]


class Broker:
    def __init__(self, options):
        self.folder = options.broker
        self.root = options.root

    # ---- The node ----

    def shell(self, words):
        """Runs words of deploy/lib/broker.sh; D is the node's folder."""
        script = f'. "{self.root}/deploy/lib/broker.sh"; D="{self.folder}"; {words}'
        result = patience.run(["bash", "-c", script], words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.returncode == 0, result.stdout.strip()

    def ctl(self, *words):
        return self.shell("broker_ctl \"$D\" " + " ".join(f"'{word}'" for word in words))

    def kill(self):
        return self.shell('broker_kill "$D"')

    def stop(self):
        return self.shell('broker_stop "$D"')

    def start(self):
        return self.shell('broker_start "$D"')

    def memory_alarm(self, is_on):
        return self.ctl("set_vm_memory_high_watermark", *(["absolute", "1MB"] if is_on else ["0.4"]))

    def disk_alarm(self, is_on):
        return self.ctl("set_disk_free_limit", "100000GB" if is_on else "256MB")

    def restart_leader(self, queue):
        """Ends the Raft server of a queue; its supervisor starts it again."""
        return self.ctl("eval", f'exit(whereis(list_to_atom("pushline_{queue}")), kill).')

    def close_connections(self):
        """Closes every connection. A connection that ends by itself meanwhile fails the command half-way: then once more."""
        for _ in range(10):
            done, words = self.ctl("close_all_connections", "chaos")
            if done:
                break
            time.sleep(0.5)
        return done, words

    def connections(self):
        """The channels that the node knows, each named by its connection's program and number."""
        names = {}
        for line in self._list("list_connections", "pid", "client_properties"):
            name = re.search(r'"connection_name","([^"]*)"', line)
            names[line.split("\t")[0]] = name.group(1) if name else "unnamed"
        channels = collections.Counter(f"connection of {name}" for name in names.values())
        for line in self._list("list_channels", "connection", "number"):
            connection, number = line.split("\t")
            channels[f"{names.get(connection, 'unnamed')} {number}"] += 1
        return channels

    def settled_connections(self, expected=None, seconds=20):
        """The connections when they no longer change, or are as expected: who has just begun opens them one after the other, and
        what was cut off is forgotten in a moment."""
        end = time.monotonic() + seconds
        before = None
        while True:
            now = self.connections()
            if time.monotonic() > end or now == (before if expected is None else expected):
                return now
            before = now
            time.sleep(2)

    def _list(self, *words):
        done, text = self.ctl("-q", *words)
        if not done:
            raise RuntimeError(f"{words[0]} failed: {text[-300:]}")
        return [line for line in text.splitlines() if line.startswith("<")]

    # ---- Messages ----

    def _channel(self):
        connection = pika.BlockingConnection(pika.URLParameters(os.environ["BROKER_URL"] + "?socket_timeout=5"))
        return connection, connection.channel()

    def publish(self, messages):
        """Publishes (queue, properties, body) of each."""
        connection, channel = self._channel()
        try:
            channel.confirm_delivery()
            for queue, properties, body in messages:
                channel.basic_publish("", queue, body, pika.BasicProperties(**properties))
        finally:
            connection.close()

    def hand_out(self, queue, limit=64):
        """Takes what waits in a queue and goes without a word: it comes again, as redelivered; the messages' ids."""
        connection, channel = self._channel()
        try:
            channel.basic_qos(prefetch_count=limit)
            taken = []
            for method, properties, _ in channel.consume(queue, inactivity_timeout=1):
                if method is None:
                    break
                taken.append(properties.message_id)
            return taken
        finally:
            connection.close()

    def hand_out_twice(self, queue, begin, seconds=60):
        """Hands out what comes to a queue from `begin` on, which is done again until something comes, until a message of it has been
        handed out twice. What the broker refuses meanwhile (it has just lost every connection) is asked again until the time is over."""
        end = time.monotonic() + seconds
        again, before, times = 0.0, None, collections.Counter()
        while not times or max(times.values()) < 2:
            try:
                # All of it: what is beyond a limit would be another part each time.
                taken = set(self.hand_out(queue, limit=1000))
                if before is None:
                    before = taken
                times.update(taken - before)
                # What an API without a connection accepts waits for the sweeper, which may be in a process that is stopped.
                if not times and time.monotonic() > again:
                    begin()
                    again = time.monotonic() + 5
                words = "nothing came"
            except (pika.exceptions.AMQPError, OSError) as error:
                words = repr(error)
            if time.monotonic() > end:
                raise RuntimeError(f"{queue} was not handed out twice in {seconds} s: {words}")

    def shuffle(self, queue, randomness: random.Random, limit=64):
        """Takes what waits in a queue and puts it back twice each, in another order; how many there were."""
        connection, channel = self._channel()
        try:
            channel.confirm_delivery()
            taken = []
            while len(taken) < limit:
                method, properties, body = channel.basic_get(queue)
                if method is None:
                    break
                taken.append((method.delivery_tag, properties, body))
            copies = [item for item in taken for _ in range(2)]
            randomness.shuffle(copies)
            for _, properties, body in copies:
                channel.basic_publish("", queue, body, properties)
            # Only now: whatever fails before leaves the originals.
            for tag, _, _ in taken:
                channel.basic_ack(tag)
            return len(taken)
        finally:
            connection.close()


def hostile(randomness: random.Random):
    """A message that nobody of Pushline's wrote: its queue, its properties, its body."""
    queue = randomness.choice(QUEUES)
    kind = queue.split(".")[1]
    job = "0192f0c1-2345-7abc-8def-%012x" % randomness.getrandbits(48)
    # Of rows that are not there: who names one that is may end its work.
    number = str(randomness.randrange(10**9, 10**18))
    message_id = randomness.choice(["", "garbage", job, f"{job}/apns/0/0", number, "99999999", "0", "007", "+7", "-1", "9" * 30])
    garbage = bytes(randomness.getrandbits(8) for _ in range(randomness.randrange(0, 300)))
    future = b'{"version":99,"app":"default","message":%s}' % number.encode()
    body = randomness.choice([b"", garbage, future, b"\xff" * 4000, b"\x63" + garbage])
    properties = {
        "type": randomness.choice([kind, "", "register", "send", "deliver", "unheard-of"]),
        "message_id": message_id,
        "delivery_mode": 2,
        "headers": randomness.choice([{}, {"app": "default"}, {"app": "no such app"}, {"app": 7, "devices": "many"}]),
    }
    return queue, properties, body
