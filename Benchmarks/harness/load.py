"""Load by h2load (nghttp2), the yardstick of every ratio; by wrk where requests differ in a header."""

import json
import pathlib
import re
import resource
import subprocess

from processes import Failure


def _run(arguments):
    command = ["h2load", "-t", "1", *[str(argument) for argument in arguments]]
    before = _own_children()
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    cpu = _own_children() - before
    done = re.search(r"finished in ([\d.]+)(us|ms|s|m)\b", result.stdout)
    codes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", result.stdout)
    if result.returncode != 0 or not done or not codes:
        raise Failure(f"h2load failed: {(result.stderr or result.stdout)[-300:]}")
    if any(int(codes.group(index)) for index in (2, 3, 4)):
        raise Failure(f"h2load was answered: {codes.group(0)}")
    seconds = float(done.group(1)) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[done.group(2)]
    return int(codes.group(1)), seconds, cpu


def _own_children():
    """Seconds of CPU of the children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def http1(url, connections, seconds, key=None, body=None, headers=None):
    """Requests a second that were answered 2xx; a body makes it a POST, of JSON unless headers say more."""
    headers = dict(headers or {"Content-Type": "application/json"} if body else {})
    if key:
        headers["Authorization"] = f"Bearer {key}"
    arguments = ["--h1", "-c", connections, "-D", seconds]
    for name, value in headers.items():
        arguments += ["-H", f"{name}: {value}"]
    if body:
        arguments += ["-d", body]
    answered, seconds, _ = _run([*arguments, url])
    return answered / seconds


def http1_rotating(url, connections, seconds, file):
    """Requests a second; each has the next line of the file as its header Authorization."""
    return _wrk("rotate.lua", url, connections, seconds, file)


def http1_registering(url, connections, seconds, key, first):
    """New registrations a second, each answered when it is in force; they are numbered from that number on."""
    return _wrk("register.lua", url, connections, seconds, key, first)


def _wrk(script, url, connections, seconds, *arguments):
    script = pathlib.Path(__file__).parent / script
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script, url, "--", *arguments]
    command = [str(word) for word in command]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        raise Failure(f"wrk failed: {(result.stderr or result.stdout)[-300:]}")
    counts = json.loads(result.stdout.strip().splitlines()[-1])
    if counts["failed"]:
        raise Failure(f"wrk was not answered as it should be: {counts}")
    return counts["requests"] / (counts["us"] / 1e6)


def http2(receiver, paths, requests, connections, streams, headers, body, folder):
    """Requests a second, as the receiver counts them, and the seconds of CPU that h2load took for one.

    All have the same headers and body; the paths come from the file, and reading it is in h2load's time.
    """
    data = pathlib.Path(folder) / "body"
    data.write_text(body)
    receiver.reset()
    arguments = ["-n", requests, "-c", connections, "-m", streams, "-d", data]
    for name, value in headers:
        arguments += ["-H", f"{name}: {value}"]
    _, _, cpu = _run([*arguments, "-B", f"https://127.0.0.1:{receiver.port}", "-i", paths])
    counts = receiver.counts()
    received = counts["apns"] + counts["fcm"]
    if received != requests:
        raise Failure(f"h2load sent {requests} requests, the receiver counted {received}")
    return received / ((counts["last"] - counts["first"]) / 1e9), cpu / received


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def write_paths(file, paths):
    with open(file, "w", encoding="ascii") as out:
        for path in paths:
            out.write(f"https://127.0.0.1{path}\n")
