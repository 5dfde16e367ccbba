"""An app whose hub is an Azure hub: `pushline-hub` of the same installation, over TLS (rule 18)."""

import json

NAME = "azure"
# A send is a call for each.
SERVICES = ["apns", "fcm", "wns"]
PATH = f"/api/apps/{NAME}/sends"
RULE = "chaos"
# Where a call is made, and where it goes to: only what breaks one of these can cost an answer.
BREAKING = ("delivery-worker", "hub", "store")
# The most seconds that a call may take, as the worker has it.
CALL_TIME = 30
# When a process has died is seen a little later.
SLACK = 3


def declare(installation):
    """Declares the app; the hub's certificates are in the run's folder. The key of its operator."""
    folder = installation.folder / "hub"
    connection = folder / "connection"
    endpoint = f"localhost:{installation.hub_port}"
    connection.write_text(installation.cli("hub", "rules", "create", RULE, "--rights", "listen,send,manage", "--endpoint", endpoint))
    hub = {
        "connection_string_file": str(connection),
        "name": "default",
        "platforms": SERVICES,
        "trust_file": str(folder / "ca.pem"),
    }
    # JSON is YAML.
    file = folder / "app.yaml"
    file.write_text(json.dumps({"apps": {NAME: {"requests_per_second": 100000, "hub": {"azure": hub}}}}))
    installation.cli("apps", "apply", file)
    return installation.cli("keys", "create", NAME, "--role", "operator", "--app", NAME).strip()


def environment(installation):
    """Of the process that is the hub."""
    folder = installation.folder / "hub"
    return {
        "PUSHLINE_HUB_PORT": str(installation.hub_port),
        "PUSHLINE_HUB_CERTIFICATE_FILE": str(folder / "server.pem"),
        "PUSHLINE_HUB_KEY_FILE": str(folder / "server.key"),
    }


def judge(verdict):
    """What the app's calls came to, against the sends that came to the hub; that each job's calls add up, others see."""
    calls = dict(verdict.rows("SELECT state, count(*) FROM hub_call GROUP BY state"))
    works = verdict.rows("SELECT work FROM job WHERE key = ?", f"hub:{RULE}")
    sends = sum(1 for (work,) in works if json.loads(work).get("send") is not None)
    taken = calls.get("taken", 0)
    # Of a send that was stopped nobody comes back to a call that was under way.
    unknown = calls.get("unknown", 0) + calls.get("submitting", 0)
    if sends < taken:
        verdict.lost += taken - sends
        verdict.faults.append(f"{taken} calls were taken by the hub, which has {sends} sends")
    if sends > taken + unknown:
        verdict.counted_twice += sends - taken - unknown
        verdict.faults.append(f"the hub has {sends} sends of {taken} calls that it took and {unknown} that it may have")
    unexplained = _unexplained(verdict)
    if unexplained:
        verdict.faults.append(f"{unexplained} calls are unknown, and nothing had died or stood still while they were made")
    return {"sends at the hub": sends, **calls}


def _unexplained(verdict):
    """How many calls are unknown without a crash or a pause while they were made (rule 18)."""
    shift = verdict.installation.store.clock_shift()
    breaks = [(begin, end) for program, begin, end in verdict.installation.breaks if program in BREAKING]
    found = 0
    for (until,) in verdict.rows("SELECT until FROM hub_call WHERE state IN ('unknown', 'submitting')"):
        last = (until - shift) / 1000
        first = last - CALL_TIME
        found += not any(begin <= last and first <= end + SLACK for begin, end in breaks)
    return found
