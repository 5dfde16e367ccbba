"""What goes wrong with the store: of a file its locks and its disk, of a PostgreSQL the server."""

import contextlib
import fcntl
import signal
import sqlite3
import subprocess
import time

from installation import boot_time


class StoreFaults:
    def __init__(self, faults):
        self.faults = faults
        self.installation = faults.installation
        self.store = faults.installation.store
        self.options = faults.options

    @contextlib.contextmanager
    def _counting_refusals(self, title):
        counts = self.faults.load.counts
        before = counts["status 503"]
        yield
        self.faults.hits[title] += counts["status 503"] - before


class FileFaults(StoreFaults):
    def cards(self):
        return [
            ("store locked by another writer", self._lock_file),
            ("store locked by another transaction", self._lock_database),
            ("disk full", self._fill_disk),
            ("file system read-only", self._read_only),
        ]

    def _lock_file(self, chance):
        with self.store.writers_lock() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with self._counting_refusals("store locked by another writer"):
                self.faults.rest(chance.uniform(1, 12))

    def _lock_database(self, chance):
        database = sqlite3.connect(self.store.path, timeout=30, isolation_level=None)
        try:
            database.execute("BEGIN IMMEDIATE")
            self.faults.rest(chance.uniform(1, 8))
            database.execute("ROLLBACK")
        finally:
            database.close()

    def _fill_disk(self, chance):
        if not self.options.own_disk:
            return False
        filler = self.installation.data / "filler"
        with self.installation.without_store():
            try:
                with filler.open("wb", buffering=0) as file:
                    # To the last page.
                    for size in (1_048_576, 4096):
                        with contextlib.suppress(OSError):
                            while True:
                                file.write(b"\0" * size)
                with self._counting_refusals("disk full"):
                    self.faults.rest(chance.uniform(2, 9))
            finally:
                filler.unlink(missing_ok=True)

    def _read_only(self, chance):
        if not self.options.own_disk:
            return False
        # Files that are open for writing keep a file system from it: all processes die of it, and come back to it.
        with self.installation.without_store():
            try:
                for _ in range(200):
                    for member in self.installation.members:
                        self.installation.kill(member)
                    if self._remount("ro"):
                        self.faults.hits["file system read-only"] += 1
                        break
                    time.sleep(0.02)
                else:
                    raise RuntimeError("the file system is never free of writers")
                self.faults.rest(chance.uniform(2, 5))
            finally:
                self._remount("rw")

    def _remount(self, mode):
        return subprocess.run(["mount", "-o", f"remount,{mode}", self.installation.data], capture_output=True).returncode == 0


# What others may hold for a while.
TABLES = ("message", "job", "registration", "writer", "account")


class ServerFaults(StoreFaults):
    """Of a server whose disk is full or read-only nothing more is known than that it ends: it is killed in place of that."""

    def cards(self):
        return [
            *[("PostgreSQL killed and started again", self._kill)] * 3,
            ("PostgreSQL ended in order and started again", self._restart),
            ("PostgreSQL stopped and continued", self._pause),
            *[("PostgreSQL's connections ended", self._disconnect)] * 2,
            ("a table locked by another transaction", self._lock_table),
            ("an old snapshot is held", self._hold_snapshot),
        ]

    @contextlib.contextmanager
    def _absent(self, title):
        begin = boot_time()
        with self._counting_refusals(title), self.installation.without_store():
            try:
                yield
            finally:
                self.installation.note_lost_commits(begin)

    def _kill(self, chance):
        with self._absent("PostgreSQL killed and started again"):
            self.store.shell('postgres_kill "$D"')
            self.faults.rest(chance.uniform(0, 6))
            self.store.shell('postgres_again "$D"')

    def _restart(self, chance):
        with self._absent("PostgreSQL ended in order and started again"):
            self.store.shell('postgres_restart "$D"')

    def _pause(self, chance):
        with self._absent("PostgreSQL stopped and continued"):
            self.store.shell(f'postgres_signal "$D" {signal.SIGSTOP.value}')
            try:
                self.faults.rest(chance.uniform(1, 14))
            finally:
                self.store.shell(f'postgres_signal "$D" {signal.SIGCONT.value}')

    def _disconnect(self, chance):
        begin = boot_time()
        terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pushline';"
        # Who begins meanwhile loses its first connection, and ends with that.
        with self.installation.without_store():
            for _ in range(chance.randrange(1, 6)):
                self.faults.hits["PostgreSQL's connections ended"] += len(self.store.run(terminate, role="postgres"))
                self.faults.rest(chance.uniform(0, 0.5))
        self.installation.note_lost_commits(begin)

    def _lock_table(self, chance):
        # Who begins meanwhile may not come to it.
        with self._absent("a table locked by another transaction"):
            self.store.run(
                f"BEGIN; LOCK TABLE {chance.choice(TABLES)}; SELECT pg_sleep({chance.uniform(1, 14):.1f}); ROLLBACK;", role="postgres"
            )

    def _hold_snapshot(self, chance):
        self.store.run(
            f"BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job; SELECT pg_sleep({chance.uniform(5, 15):.1f}); ROLLBACK;",
            role="postgres",
        )
