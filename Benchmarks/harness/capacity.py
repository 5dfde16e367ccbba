"""What an installation needs, by part: bytes and CPU of one of each thing. See docs/scale.md, whose tables
Tests/Scripts/scale.py writes from these numbers."""

import contextlib
import json
import statistics
import threading
import time

import registrations
from figures import TARGETED
from installation import OURS
from messages import MESSAGE, small_send
from processes import Failure

# Each table with its indexes, in bytes.
SIZES = {
    "file": "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_schema USING (name) WHERE aggregate = TRUE GROUP BY tbl_name",
    "postgresql": "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
}
# What a server has written to its log so far, in bytes: what standbys get.
LOGGED = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"
# Delivery messages at the broker, and their devices (MessageState in StoreKit).
WAITING = "SELECT count(*), coalesce(sum(size), 0) FROM message WHERE size > 0 AND state = 1"
# Small sends that wait at the broker: fewer than an app may have there.
WAITING_SENDS = 10_000
# The median of so many is taken: the broker's log is begun anew now and then.
BROKER_RUNS = 3
# A million devices go out through so many delivery workers.
WORKERS = (1, 2, 3)
# Registrations that a server gets besides, as copies of one, to see what is dearer among many.
GROWN = 5_000_000
GROW = """
WITH new AS (
    INSERT INTO registration(app, id, pns, handle, digest, "user", state, version, updated, tags)
    SELECT one.app, 'grown' || n, one.pns, md5('a' || n) || md5('b' || n), decode(md5('c' || n), 'hex'), 'grown' || n, one.state, one.version,
        one.updated, one.tags
    FROM (SELECT * FROM registration WHERE "user" = '{user}') AS one CROSS JOIN generate_series(1, {count}) AS n
    RETURNING "row", pns),
    name AS (INSERT INTO tag_name(app, name) SELECT app, 'grown' FROM registration WHERE "user" = '{user}' RETURNING number)
INSERT INTO tagged(tag, pns, "row") SELECT name.number, new.pns, new."row" FROM new CROSS JOIN name;
"""


def rounded(value):
    """Three digits, which is more than a second run agrees on."""
    return float(f"{value:.3g}")


class Capacity:
    def __init__(self, figures, options, say):
        self.figures = figures
        self.installation = figures.installation
        self.options = options
        self.say = say
        self.kind = "postgresql" if getattr(options, "server", None) else "file"
        self.stored, self.logged, self.at_broker, self.cpu, self.workers, self.grown = {}, {}, {}, {}, {}, {}

    def measure(self):
        """All of it, with an installation that has no device yet; returns what the JSON line has."""
        self._register()
        self._campaigns()
        self._small_sends()
        self._requests()
        self._failures()
        self._broker()
        self._more_workers()
        if self.kind == "postgresql":
            self._grow()
        return {
            "store": self.kind,
            "stored_bytes": self.stored,
            **({"log_bytes": self.logged} if self.logged else {}),
            "broker_bytes": self.at_broker,
            "cpu_us": self.cpu,
            "memory_mb": self.memory,
            "workers": self.workers,
            **({"grown": self.grown} if self.grown else {}),
        }

    # ---- The parts ----

    def _register(self):
        """Whatever grows by an import is a table of registrations, and no job's."""
        self.tables = set()
        for service in registrations.SERVICES:
            with self._growing() as growth:
                count = self.installation.register([service])
            self.tables |= {table for table, size in growth.items() if size > 0 and table != "log"}
            self._note(f"registration_{service}", growth, count)
            if service == "apns":
                devices = int(registrations.APNS_DEVICES * self.options.scale)
                tags = devices + int(registrations.SMALL_DEVICES * self.options.scale)
                self.stored["tag"] = rounded(growth["tagged"] / tags)

    def _campaigns(self):
        for service, tag, most in (
            ("apns", registrations.EVERYONE, registrations.APNS_DEVICES),
            ("fcm", registrations.ANDROID, registrations.FCM_DEVICES),
            ("web", registrations.BROWSERS, registrations.WEB_DEVICES),
        ):
            devices = int(most * self.options.scale)
            if service == "apns":
                # The first opens connections, and learns.
                self.figures.fan_out_to(tag, service, devices)
            with self._growing() as growth, self._spending() as spent:
                self.figures.fan_out_to(tag, service, devices)
            self.cpu[f"device_{service}"] = self._each(spent, devices)
            if service == "apns":
                self._note("campaign_device", growth, devices)
                self.memory = {name: round(size) for name, size in self.installation.memory().items()}

    def _small_sends(self):
        """A second time: what the first leaves free is used by those that follow."""
        messages = int(TARGETED * self.options.scale)
        self.figures.small_sends(messages)
        with self._growing() as growth, self._spending() as spent:
            self.figures.small_sends(messages)
        self._note("send", growth, messages)
        self.cpu["send_of_many"] = self._each(spent, messages)

    def _requests(self):
        for name, work in (("send", self.figures.accept_rate), ("registration", self.figures.register)):
            first = self.installation.last_sequence()
            try:
                with self._growing() as growth, self._spending() as spent:
                    work()
            except Failure as failure:
                self.say(f"  {name} is left out: {failure}")
                continue
            count = self.installation.jobs(first)
            self.cpu[name] = self._each(spent, count)
            if name == "registration":
                jobs = {table: size for table, size in growth.items() if table not in self.tables}
                self._note("registration_job", jobs, count)

    def _failures(self):
        installation, devices = self.installation, int(registrations.FCM_DEVICES * self.options.scale)
        installation.receiver.answer_fcm("400")
        with self._growing() as growth, self._spending() as spent:
            job = installation.api.send({"to": {"tag": registrations.ANDROID}, "services": ["fcm"], **MESSAGE})
            totals = installation.api.wait_until_final(job)["totals"]
        installation.receiver.answer_fcm("200")
        if sum(totals["failed"].values()) != devices:
            raise Failure(f"{devices} devices were to fail; the job says {totals}")
        self._note("failed_device", growth, devices)
        self.cpu["failed_device"] = self._each(spent, devices)

    def _broker(self):
        """What waits at the broker without delivery workers, and the most that it has on its disk beside one."""
        # Three times what an app may have there.
        campaign = {"to": {"tag": registrations.SMALL}, "services": ["apns"], **MESSAGE}
        lines = [small_send(number) for number in range(int(WAITING_SENDS * self.options.scale))]
        pages, sends = [], []
        for _ in range(BROKER_RUNS):
            pages.append(self._waiting(lambda: self.installation.api.send(campaign)))
            sends.append(self._waiting(lambda: self.installation.api.send_many(lines)))
        self.at_broker["message_of_campaign"] = rounded(statistics.median(grown / messages for grown, messages, _ in pages))
        self.at_broker["device_of_campaign"] = rounded(statistics.median(grown / devices for grown, _, devices in pages))
        self.at_broker["send"] = rounded(statistics.median(grown / devices for grown, _, devices in sends))
        with self._watching() as most:
            devices = int(registrations.APNS_DEVICES * self.options.scale)
            self.figures.fan_out_to(registrations.EVERYONE, "apns", devices)
        self.at_broker["disk_at_most"] = max(most)

    def _more_workers(self):
        """A campaign through several delivery workers: what all programs take for a device together, and how fast."""
        devices = int(registrations.APNS_DEVICES * self.options.scale)
        for count in WORKERS:
            with self.installation.more("delivery-worker", count - 1):
                # The first opens connections, and learns.
                self.figures.fan_out_to(registrations.EVERYONE, "apns", devices)
                with self._spending() as spent:
                    rate = self.figures.fan_out_to(registrations.EVERYONE, "apns", devices)
            self.workers[str(count)] = {"devices_per_s": rounded(rate), **self._each(spent, devices)}

    def _grow(self):
        """The same sends among many more registrations, which are there at once."""
        count, devices = int(GROWN * self.options.scale), int(registrations.APNS_DEVICES * self.options.scale)
        messages = int(TARGETED * self.options.scale)
        begin = time.monotonic()
        with self._growing() as growth:
            self.installation.store.run(GROW.format(user=registrations.user(1), count=count), role="postgres")
        seconds = time.monotonic() - begin
        self.installation.store.run("VACUUM ANALYZE registration, tagged;", role="postgres")
        size = sum(size for table, size in growth.items() if table != "log")
        self.say(f"  {count:,} registrations inserted in {seconds:.0f} s, {size / count:,.0f} bytes each")
        self.grown = {"registrations": count, "per_s": rounded(count / seconds), "bytes": rounded(size / count)}
        self.figures.fan_out_to(registrations.EVERYONE, "apns", devices)
        with self._spending() as spent:
            self.figures.fan_out_to(registrations.EVERYONE, "apns", devices)
        self.grown["device_apns"] = self._each(spent, devices)
        self.figures.small_sends(messages)
        with self._spending() as spent:
            self.figures.small_sends(messages)
        self.grown["send_of_many"] = self._each(spent, messages)

    def _waiting(self, begin):
        """Has something sent that nobody delivers: bytes by which the broker's disk grows, messages and devices there."""
        with self.installation.without("delivery-worker"):
            before = self._broker_disk()
            begin()
            messages, devices = self._until_still()
            grown = self._broker_disk() - before
        self.figures.wait_for_all(600)
        return grown, messages, devices

    def _until_still(self):
        """Messages and devices that wait, once no more come for a second."""
        last, since, end = None, time.monotonic(), time.monotonic() + 60
        while time.monotonic() < end:
            now = tuple(map(int, self.installation.rows(WAITING)[0]))
            if now != last:
                last, since = now, time.monotonic()
            elif now[1] > 0 and time.monotonic() - since > 1:
                return now
            time.sleep(0.1)
        raise Failure("what waits at the broker changes for a minute")

    # ---- Reading ----

    @contextlib.contextmanager
    def _growing(self):
        """Gives bytes by which each table grows in between, and the log's as `log`, when it is over."""
        growth = {}
        before = self._sizes()
        yield growth
        growth.update({name: size - before.get(name, 0) for name, size in self._sizes().items()})

    def _sizes(self):
        sizes = {table: int(size) for table, size in self.installation.rows(SIZES[self.kind])}
        if self.kind == "postgresql":
            sizes["log"] = int(self.installation.rows(LOGGED)[0][0])
        return sizes

    def _note(self, name, growth, count):
        if "log" in growth:
            self.logged[name] = rounded(growth["log"] / count)
        self.stored[name] = rounded(sum(size for table, size in growth.items() if table != "log") / count)

    @contextlib.contextmanager
    def _spending(self):
        """Gives seconds of CPU of each process in between; the receiver stands for machines that are not ours."""
        spent = {}
        before = self.installation.cpu()
        yield spent
        after = self.installation.cpu()
        spent.update({name: after[name] - before[name] for name in before if name != "receiver"})

    @staticmethod
    def _each(spent, count):
        return {name: rounded(seconds / count * 1e6) for name, seconds in spent.items()}

    def _broker_disk(self):
        size = 0
        for file in (self.installation.folder / "broker" / "mnesia").rglob("*"):
            # It may be gone by now.
            with contextlib.suppress(FileNotFoundError):
                size += file.stat().st_blocks * 512
        return size

    @contextlib.contextmanager
    def _watching(self):
        """Gives what the broker's disk has, ten times a second."""
        seen, is_over = [self._broker_disk()], threading.Event()

        def watch():
            while not is_over.wait(0.1):
                seen.append(self._broker_disk())

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield seen
        finally:
            is_over.set()
            thread.join()


def show(found, say):
    """The table, and the JSON object as the last line."""
    say("")
    for title, member in (
        ("STORED, bytes", "stored_bytes"),
        ("LOG OF THE SERVER, bytes", "log_bytes"),
        ("AT THE BROKER, bytes", "broker_bytes"),
        ("MEMORY AT MOST, MB", "memory_mb"),
    ):
        if member in found:
            say(title)
            for name, size in found[member].items():
                say(f"  {name:<20} {size:>14,.2f}")
    parts = [*OURS, "broker"] + (["postgresql"] if found["store"] == "postgresql" else [])
    line = "  {:<16}" + " {:>15}" * len(parts)
    say("CPU of one, us, and how many a second one core is enough for")
    say(line.format("", *parts))
    for name, cost in found["cpu_us"].items():
        cells = [f"{cost[part]:,.2f} {1e6 / cost[part]:,.0f}" if cost[part] >= 0.01 else "-" for part in parts]
        say(line.format(name, *cells))
    say(json.dumps(found))
