"""The store of an installation that a script has started: a file, or a private PostgreSQL of deploy/lib/postgres.sh.

What is asked and changed is one text for both: parameters are `?`, and a column that is named as a word of SQL stands in quotes. Bytes are
bytes in both, JSON is a text.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import threading
import time
import urllib.parse

import patience


class FileStore:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        # What programs are told of it.
        self.environment = {"PUSHLINE_STORE_PATH": str(path)}

    def rows(self, sql, *values):
        path = urllib.parse.quote(str(self.path))
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as database:
            return database.execute(sql, values).fetchall()

    def change(self, sql, rows):
        """Runs a statement for each of the rows, in one transaction, as a program would."""
        with self.writers_lock() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with contextlib.closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(sql, rows)
                database.execute("COMMIT")

    def writers_lock(self):
        """The file whose lock whoever writes holds."""
        return open(f"{self.path}.writer", "ab")

    def is_writable(self):
        """Whether nobody writes, within a second."""
        with self.writers_lock() as file:
            for _ in range(1000):
                time.sleep(0.001)
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
        return False

    def clock_shift(self):
        """Milliseconds from the time since the machine's start to the store's clock."""
        return self.rows("SELECT shift FROM clock")[0][0]


class ServerStore:
    """Asked by psql, one for each role, which is started again where its server was."""

    # Follows each answer.
    END = "-- end --"

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = dict(line.split("=", 1) for line in (self.folder / "settings").read_text().splitlines())
        self.url = self.environment["PUSHLINE_STORE_URL"]
        self.password = (self.folder / "password").read_text().strip()
        self.lock = threading.Lock()
        self.process = None

    def rows(self, sql, *values):
        # Each as an array of JSON, whose bytes are digits behind \x.
        parts = sql.split("?")
        text = "".join(part + _literal(value) for part, value in zip(parts, values)) + parts[-1]
        with self.lock:
            try:
                lines = self._ask(f"SELECT row_to_json(found) FROM ({text}) AS found")
            except BrokenPipeError:
                # The server was started anew.
                lines = self._ask(f"SELECT row_to_json(found) FROM ({text}) AS found")
        return [tuple(map(_value, json.loads(line).values())) for line in lines]

    def change(self, sql, rows):
        parts = sql.split("?")
        texts = ["".join(part + _literal(value) for part, value in zip(parts, row)) + parts[-1] for row in rows]
        self.run(";\n".join(["BEGIN", *texts, "COMMIT;"]))

    def run(self, text, role="pushline"):
        """Runs statements, of which the last ends with `;`; as "postgres" there is nothing that it may not do.

        Returns what is printed, a line a row.
        """
        pipe = subprocess.PIPE
        result = patience.run(self._command(role), "psql", text, env=self._psql(), stdin=pipe, stdout=pipe, stderr=pipe)
        if result.returncode != 0:
            raise RuntimeError(f"PostgreSQL: {result.stderr.strip()[-300:]}")
        return result.stdout.splitlines()

    def shell(self, words):
        """Runs words of deploy/lib/postgres.sh; D is the server's folder."""
        library = pathlib.Path(__file__).parent
        script = f'. "{library}/broker.sh"; . "{library}/postgres.sh"; D="{self.folder}"; {words}'
        # What the server prints is in its own log: a pipe would stay open for as long as it runs.
        nothing = subprocess.DEVNULL
        done = patience.run(["bash", "-c", script], words, stdin=nothing, stdout=nothing, stderr=nothing)
        if done.returncode != 0:
            raise RuntimeError(f"{words} failed; see {self.folder}/server.log")

    def is_writable(self):
        """Of a stopped process's transaction that is not over the server ends the connection, in seconds."""
        return True

    def clock_shift(self):
        # The clock of a server on this machine.
        return (time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)) * 1000

    def processes(self):
        """The ids of the server's processes; none where it does not run."""
        try:
            first = int((self.folder / "server" / "postmaster.pid").read_text().split()[0])
            children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        except (OSError, IndexError):
            return []
        return [first, *map(int, children)]

    def _command(self, role):
        url = self.url.replace("//pushline@", f"//{role}@")
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url]

    def _psql(self):
        return {**os.environ, "PGPASSWORD": self.password}

    def _ask(self, text):
        if self.process is None or self.process.poll() is not None:
            with (self.folder / "psql.log").open("ab") as log:
                self.process = subprocess.Popen(
                    self._command("pushline"),
                    env=self._psql(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        self.process.stdin.write(f"{text};\n\\echo '{self.END}'\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == f"{self.END}\n":
                return lines
            lines.append(line)
        # psql ends where a statement fails, and says why in its log.
        self.process.wait()
        self.process = None
        raise BrokenPipeError("psql has ended")


def _literal(value):
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _value(value):
    """Bytes come as a text of digits."""
    if isinstance(value, str) and re.fullmatch(r"\\x(?:[0-9a-f]{2})*", value):
        return bytes.fromhex(value[2:])
    return value
