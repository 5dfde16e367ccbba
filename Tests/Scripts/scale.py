#!/usr/bin/env python3
"""Holds docs/scale.md to what was measured (Benchmarks/capacity.json), and deploy/scale to both.

    scale.py            ends with 1 where one of them is not so
    scale.py --write    writes the tables of docs/scale.md anew, after deploy/bench --capacity; its other numbers are for who runs it
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "scale.md"
MEASURED = {line["store"]: line for line in map(json.loads, (ROOT / "Benchmarks" / "capacity.json").read_text().splitlines())}
PROGRAMS = {"api": "API", "register-worker": "register worker", "send-worker": "send worker", "delivery-worker": "delivery worker", "broker": "RabbitMQ"}
COSTS = {
    "device_apns": "a device of a campaign at APNs",
    "device_fcm": "… at FCM",
    "device_web": "a browser",
    "failed_device": "a device at FCM that fails",
    "send_of_many": "a send to a user, one of many in a request",
    "send": "a send to a user, a request each",
    "registration": "a registration, a request each",
}
SIZES = {
    "registration_apns": "a registration at APNs, with a user and a tag",
    "registration_fcm": "… at FCM",
    "registration_web": "… of a browser",
    "tag": "of it, a tag",
    "send": "a send to a user, with its outcome",
    "registration_job": "a change of a registration, as a job",
    "campaign_device": "a device of a campaign",
    "failed_device": "a device that failed, with the reason",
}


def table(*rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def microseconds(value):
    """Three digits; nothing where the work is another's."""
    if value < 0.1:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{float(f'{value:.3g}'):,.0f}"


def octets(value):
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def together(store, what):
    return sum(MEASURED[store]["cpu_us"][what].get(program, 0) for program in PROGRAMS)


def costs():
    rows = [["", *PROGRAMS.values(), "together", "over PostgreSQL", "and its server"]]
    for what, name in COSTS.items():
        used = MEASURED["file"]["cpu_us"][what]
        rows.append([
            name,
            *(microseconds(used.get(program, 0)) for program in PROGRAMS),
            f"**{microseconds(together('file', what))}**",
            f"**{microseconds(together('postgresql', what))}**",
            microseconds(MEASURED["postgresql"]["cpu_us"][what]["postgresql"]),
        ])
    return table(*rows)


def sizes():
    rows = [["", "file", "PostgreSQL", "its log"]]
    for what, name in SIZES.items():
        server = MEASURED["postgresql"]
        rows.append([name, *(octets(part.get(what)) for part in (MEASURED["file"]["stored_bytes"], server["stored_bytes"], server["log_bytes"]))])
    return table(*rows)


def scale(*words):
    """What deploy/scale prints."""
    done = subprocess.run([ROOT / "deploy" / "scale", *words], capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"deploy/scale {shlex.join(words)} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def cores(store, *words):
    return float(re.search(r"together +([\d.]+) cores", scale("--store", store, *words))[1])


def hosts():
    """What so many hosts of 16 cores can do at most, as deploy/scale says it."""
    said = []
    for number, store in (("1", "file"), ("3", "postgresql"), ("10", "postgresql")):
        lines = scale("--hosts", number, "--cores", "16", "--store", store).splitlines()[1:]
        said.append([re.match(r"  (.+?) {2,}([\d,]+)  (.+) end first", line).groups() for line in lines])
    rows = [["", "one, a file", "three, PostgreSQL", "ten, PostgreSQL"]]
    for (name, rate, _), *others in zip(*said):
        rows.append([name, rate, *(f"{most} ({end})" for _, most, end in others)])
    return table(*rows)


def workers():
    """A send to a million with so many delivery workers: devices a second, and CPU a device."""
    rows = [["", "one delivery worker", "two", "three"]]
    for store, name in (("file", "a file"), ("postgresql", "PostgreSQL")):
        cells = []
        for number in "123":
            used = MEASURED[store]["workers"][number]
            cost = microseconds(sum(used.get(program, 0) for program in PROGRAMS))
            server = f" and {microseconds(used['postgresql'])}" if "postgresql" in used else ""
            cells.append(f"{used['devices_per_s']:,.0f} ({cost}{server} µs)")
        rows.append([name, *cells])
    return table(*rows)


text = PAGE.read_text()
found = re.findall(r"(?m)^\| +\| (?:API|file|one, a file|one delivery worker) \|.*\n(?:\|.*\n)+", text)
wanted = [costs(), sizes(), hosts(), workers()]
if len(found) != len(wanted):
    sys.exit(f"{PAGE} has {len(found)} tables of what was measured")
if "--write" in sys.argv[1:]:
    for old, new in zip(found, wanted):
        text = text.replace(old, new)
    PAGE.write_text(text)
elif found != wanted:
    sys.exit(f"{PAGE} has other numbers than Benchmarks/capacity.json: Tests/Scripts/scale.py --write writes\n\n" + "\n".join(wanted))

examples = re.findall(r"(?m)^deploy/scale (.*)$", text)
if not examples:
    sys.exit(f"{PAGE} has no example of deploy/scale")
for example in examples:
    for store in MEASURED:
        answer = scale("--store", store, *shlex.split(example))
        if "Stored: registrations " not in answer or ("The server's log: " in answer) != (store == "postgresql"):
            sys.exit(f"deploy/scale {example} does not say what is stored:\n{answer}")
# A million a second takes as many cores as one takes microseconds.
for store, measured in MEASURED.items():
    for what, words in {
        "device_apns": ["--campaign", "60000000", "--sends", "0", "--registering", "0"],
        "device_web": ["--service", "web", "--campaign", "60000000", "--sends", "0", "--registering", "0"],
        "send": ["--campaign", "0", "--sends", "1000000", "--registering", "0"],
        "registration": ["--campaign", "0", "--sends", "0", "--registering", "1000000"],
    }.items():
        expected = together(store, what) + measured["cpu_us"][what].get("postgresql", 0)
        answer = cores(store, *words)
        if abs(answer - expected) > 0.01:
            sys.exit(f"deploy/scale {shlex.join(words)} --store {store} says {answer} cores in place of {expected}")
