"""Commands of a script's own, which may take long on a machine that has much else to do."""

import subprocess
import time

# Seconds after which it is said that a command takes long, and those after which it is given up.
SLOW = 180
MOST = 900

# What each took that was slow, for whoever judges a run.
slow = []


def run(command, name, input=None, **options):
    """Runs a command to its end, however slow it is, and says so; otherwise as `subprocess.run`, of texts.

    Raises `subprocess.TimeoutExpired` where it is given up.
    """
    begin = time.monotonic()
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            try:
                printed = process.communicate(input, timeout=SLOW)
            except subprocess.TimeoutExpired:
                print(f"  {name} takes more than {SLOW} s and is waited for", flush=True)
                printed = process.communicate(timeout=MOST - SLOW)
                slow.append(f"{name} ({time.monotonic() - begin:.0f} s)")
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, *printed)
