"""Measures Pushline; deploy/bench prepares what it needs. See docs/performance.md."""

import argparse
import json
import pathlib
import signal
import statistics
import sys

import capacity
from figures import Figures
from installation import Installation
from processes import Failure

# What is measured together, in this order: the last leaves the most behind.
GROUPS = {
    "fanout": ["fanout_ratio", "direct_ratio", "fanout_growth", "fanout_memory_mb"],
    "whole": ["whole_ratio"],
    "fcm": ["fcm_ratio"],
    "web": ["webpush_devices_per_s"],
    "isolation": ["isolation_healthy", "isolation_503", "isolation_silent", "isolation_memory_mb"],
    "targeted": ["targeted_per_s", "targeted_ratio"],
    "register": ["register_per_s"],
    "status": ["status_ratio"],
    "watchers": ["watch_reads_per_s", "watch_cores", "console_ratio", "console_reads_per_s"],
    "signin": ["signin_ratio", "signin_first_p99_s"],
    "idle": ["idle_p50_ratio", "idle_p99_ratio"],
    "urgent": ["urgent_ratio"],
    "accept": ["accept_ratio"],
    "hub": ["hub_ratio", "hub_send_per_s", "hub_broadcast_ratio"],
    "neighbours": ["neighbour_ratio"],
    "crash": ["crash_gap_s"],
}
# What a file has not.
SERVER_GROUPS = ("crash",)
# What each must reach: at least, or at most.
GOALS = {
    "fanout_ratio": (">=", 0.6),
    "direct_ratio": (">=", 0.5),
    "fanout_growth": ("<=", 1.1),
    "fanout_memory_mb": ("<=", 150),
    "whole_ratio": (">=", 0.97),
    "fcm_ratio": (">=", 0.35),
    "isolation_503": (">=", 0.95),
    "isolation_silent": (">=", 0.95),
    "isolation_memory_mb": ("<=", 150),
    "targeted_ratio": (">=", 0.5),
    "accept_ratio": (">=", 0.25),
    "register_per_s": (">=", 2000),
    "status_ratio": (">=", 0.1),
    "watch_reads_per_s": ("<=", 5),
    "watch_cores": ("<=", 0.1),
    "console_ratio": (">=", 0.97),
    "console_reads_per_s": ("<=", 5),
    "signin_ratio": (">=", 0.8),
    "signin_first_p99_s": ("<=", 5),
    "idle_p50_ratio": ("<=", 3),
    "idle_p99_ratio": ("<=", 5),
    "urgent_ratio": ("<=", 10),
    "hub_ratio": (">=", 0.5),
    "hub_broadcast_ratio": (">=", 0.9),
    "neighbour_ratio": ("<=", 10),
}
# Where they are others with the store in a PostgreSQL on the same processors.
SERVER_GOALS = {
    "fanout_ratio": (">=", 0.5),
    # Half, and four tenths, of what a file reaches: by docs/performance.md, for a run has one store and cannot know the other's figure.
    "accept_ratio": (">=", 0.195),
    "targeted_ratio": (">=", 0.28),
}


def arguments():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--folder", required=True, help="where everything is written")
    parser.add_argument("--bin", required=True, help="where our programs are")
    parser.add_argument("--config", required=True, help="Config/pushline.yaml")
    parser.add_argument("--broker-pid", type=int, required=True)
    parser.add_argument("--server", help="the folder of a PostgreSQL, which has the store")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--capacity", action="store_true", help="bytes and CPU of one of each thing in place of the figures")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the devices, for trying the harness itself")
    parser.add_argument("--only", default="", help="figures or groups, with commas")
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    known = [*GROUPS, *(figure for figures in GROUPS.values() for figure in figures)]
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"--only knows no {unknown[0]}; it knows {', '.join(known)}")
    options.groups = [
        group for group, figures in GROUPS.items() if not names or group in names or set(figures) & set(names)
    ]
    if not options.server:
        options.groups = [group for group in options.groups if group not in SERVER_GROUPS]
    options.runs = 1 if options.quick else 3
    options.singles = 300 if options.quick else 2000
    options.seconds = 3 if options.quick else 5
    return options


def say(text):
    print(text, flush=True)


def measure(figures, options):
    """The values of each figure, a run each; what could not be measured is said and left out."""
    values, failures = {}, []
    for group in options.groups:
        for run in range(1, options.runs + 1):
            say(f"{group}, run {run} of {options.runs}:")
            try:
                for name, value in getattr(figures, group)().items():
                    values.setdefault(name, []).append(value)
                figures.installation.processes.check()
            except Failure as failure:
                say(f"  not measured: {failure}")
                failures.append(group)
                break
    return values, failures


def table(values, goals):
    line = "{:<18} {:>12} {:>12} {:>12}  {}"
    say("")
    say(line.format("FIGURE", "MEDIAN", "LEAST", "MOST", "GOAL"))
    for name, runs in values.items():
        median = statistics.median(runs)
        goal = ""
        if name in goals:
            sign, limit = goals[name]
            is_reached = median >= limit if sign == ">=" else median <= limit
            goal = f"{sign} {limit} {'reached' if is_reached else 'MISSED'}"
        digits = 3 if median < 100 else 0
        say(line.format(name, *(f"{value:,.{digits}f}" for value in (median, min(runs), max(runs))), goal).rstrip())


def main():
    options = arguments()
    # An end in order, also where it is asked for from outside.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    installation = Installation(options, say)
    pathlib.Path(options.folder).mkdir(parents=True, exist_ok=True)
    try:
        say("Starting the API and the workers, and registering the devices ...")
        installation.start()
        figures = Figures(installation, options, say)
        if options.capacity:
            capacity.show(capacity.Capacity(figures, options, say).measure(), say)
            return 0
        installation.register()
        values, failures = measure(figures, options)
    except Failure as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    finally:
        installation.stop()
    table(values, GOALS | SERVER_GOALS if options.server else GOALS)
    named = [figure for group in options.groups for figure in GROUPS[group]]
    store = "pg_" if options.server else ""
    say(json.dumps({f"{store}{name}": round(statistics.median(values[name]), 4) for name in named if name in values}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
