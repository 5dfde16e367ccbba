"""What the scripts of the chaos have in common: their arguments, their words, and how they end."""

import argparse
import signal
import subprocess
import sys

from installation import Failure

# How long nothing may be wrong before a job that is not final counts as stuck: two leases of a job (rule 13), and the time that
# the slowest process may take to come back.
TIMEOUT = 240
# What sends may take when nothing is wrong any more: a breaker's longest pause, and as much again.
CALM_TIMEOUT = 120
# What an orderly end may take: process.drain_time, and a little.
DRAIN = 40
# The most devices of an urgent batch, which is in progress beyond the others.
URGENT = 1000
# Which ask for an end.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def say(text):
    print(text, flush=True)


def parser(description, **defaults):
    """A parser of what every script is told: where all is, the seed and the load, whose defaults are the script's."""
    parser = argparse.ArgumentParser(prog="chaos", description=description)
    parser.add_argument("--folder", required=True, help="where everything is written")
    parser.add_argument("--bin", required=True, help="where our programs are, built for debugging")
    parser.add_argument("--config", required=True, help="Config/pushline.yaml")
    parser.add_argument("--root", required=True, help="the repository")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--clients", type=int)
    parser.add_argument("--accounts", type=int)
    parser.add_argument("--pace", type=float, help="seconds between the requests of a client, on average")
    parser.add_argument("--ttl", type=int, default=150, help="seconds that most sends live")
    parser.add_argument("--devices", type=int, default=1000, help="delivery.devices")
    parser.set_defaults(**defaults)
    return parser


def add_host(parser, is_one=True):
    """Adds what one host has of its own; is_one: whether there is no other way."""
    parser.add_argument("--broker", required=is_one, help="the folder of the broker's node")
    parser.add_argument("--server", help="the folder of a PostgreSQL, which has the store")
    parser.add_argument("--own-disk", action="store_true", help="the data folder is a file system of its own")
    return parser


def main(options, make):
    """Makes a run, and ends it in order, also where that is asked for from outside."""

    def end(asked, _):
        # Once: who asks again does not break off the end.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + asked)

    for number in SIGNALS:
        signal.signal(number, end)
    run = None
    try:
        run = make(options)
        return run.go()
    except (Failure, RuntimeError, subprocess.TimeoutExpired) as failure:
        print(f"chaos: {failure}", file=sys.stderr)
        return 1
    finally:
        if run:
            run.installation.stop(DRAIN)
