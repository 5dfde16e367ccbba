"""Counts the instructions of the hot paths (callgrind) and compares them with what they are allowed."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMES = 4
# What another compiler or library may change; more is a path that has become slower.
TOLERANCE = 0.05


def collected(program, name, times):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, name, str(times)]
    # Else hashing differs from run to run.
    environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not found:
        sys.exit(f"bench: callgrind failed for {name}: {result.stderr.strip()[-300:]}")
    return int(found.group(1))


def count(program):
    """Instructions a device, by path: the start of the program falls out of the difference."""
    names = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
    counts = {}
    for line in names.splitlines():
        name, devices = line.split("\t")
        once, twice = (collected(program, name, times) for times in (TIMES, 2 * TIMES))
        counts[name] = round((twice - once) / TIMES / int(devices), 1)
    return counts


def compare(counts, thresholds):
    """Prints a table; the names of the paths that need more than they may."""
    line = "{:<42} {:>12} {:>12}  {}"
    print(line.format("HOT PATH, INSTRUCTIONS A DEVICE", "COUNTED", "ALLOWED", "").rstrip())
    slower = []
    for name, counted in counts.items():
        allowed = thresholds.get(name)
        word = ""
        if allowed is None:
            word = "has no threshold"
        elif counted > allowed * (1 + TOLERANCE):
            word = "SLOWER"
        elif counted < allowed * (1 - TOLERANCE):
            word = "faster: lower the threshold"
        if word in ("SLOWER", "has no threshold"):
            slower.append(name)
        print(line.format(name, f"{counted:,.1f}", "-" if allowed is None else f"{allowed:,.1f}", word).rstrip())
    return slower


def main():
    parser = argparse.ArgumentParser(prog="micro", description=__doc__)
    parser.add_argument("--program", required=True, help="CountedPaths")
    parser.add_argument("--thresholds", required=True, help="the JSON file with instructions a device by path")
    parser.add_argument("--set", action="store_true", help="writes what was counted as the new thresholds")
    options = parser.parse_args()
    file = pathlib.Path(options.thresholds)
    with tempfile.TemporaryDirectory() as folder:
        # Valgrind cannot read the compiler's debug information.
        program = str(pathlib.Path(folder) / "counted")
        subprocess.run(["strip", "--strip-debug", "-o", program, options.program], check=True)
        counts = count(program)
    if options.set:
        file.write_text(json.dumps(counts, indent=4) + "\n")
    slower = compare(counts, json.loads(file.read_text()))
    print(json.dumps(counts))
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
