"""Starts and ends processes, and says what they cost."""

import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    """A measurement that cannot be made; its text is for the operator."""


def cpu_seconds(pid):
    """User and system time of a process so far, children apart."""
    # "pid (name) state …": the name may hold spaces.
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_memory(pid):
    """The largest resident size since the start or `forget_peak`, in bytes."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise Failure(f"process {pid} has no memory to show")


def forget_peak(pid):
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


class Processes:
    """What a run has started, in the order of starting."""

    def __init__(self, logs):
        self.logs = pathlib.Path(logs)
        self.logs.mkdir(parents=True, exist_ok=True)
        self.running = {}

    def start(self, name, command, environment=None, **pipes):
        log = (self.logs / f"{name}.log").open("ab")
        with log:
            process = subprocess.Popen(
                [str(word) for word in command],
                env={**os.environ, **(environment or {})},
                stdin=pipes.get("stdin", subprocess.DEVNULL),
                stdout=pipes.get("stdout", log),
                stderr=log,
            )
        self.running[name] = process
        return process

    def wait_until_ready(self, name, url, seconds=30):
        end = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(url, timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                pass
            if self.running[name].poll() is not None or time.monotonic() > end:
                raise Failure(f"{name} did not start; its log is {self.logs / name}.log")
            time.sleep(0.05)

    def wait_until_listening(self, name, port, seconds=30):
        """For one that has no health to ask for."""
        end = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=2).close()
                return
            except OSError:
                pass
            if self.running[name].poll() is not None or time.monotonic() > end:
                raise Failure(f"{name} did not start; its log is {self.logs / name}.log")
            time.sleep(0.05)

    def pid(self, name):
        return self.running[name].pid

    def check(self):
        for name, process in self.running.items():
            if process.poll() is not None:
                raise Failure(f"{name} ended ({process.returncode}); its log is {self.logs / name}.log")

    def end(self, name, seconds=40):
        """Ends one of them in order."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failure(f"{name} did not end within {seconds} s; its log is {self.logs / name}.log") from None

    def stop(self):
        """Ends all of them: in order, or at once after 40 s."""
        for process in reversed(self.running.values()):
            if process.stdin:
                process.stdin.close()
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 40
        for process in self.running.values():
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = {}
