"""What the processes of the host say: credentials that end or are refused, and a process that is gone. Each waits for states of the page alone."""

import json
import re
import secrets

from demonstration import make_certificate, process

# Whole days that are left: the certificate is good for one more, which has begun when it is looked at.
DAYS_LEFT = 20

# The program that is killed: nothing is registered by way of it here.
WORKER, ROLE = "register-worker", "register worker"


def declare_credentials(declared, environment, work):
    """The declaration with two more credentials at APNs: the certificate of one ends soon, and the key of the other is none of the app's."""
    section, = re.findall(r"^    apns:\n((?: {6}.*\n)+)", declared, re.MULTILINE)
    settings = dict(line.strip().split(": ", 1) for line in section.splitlines())
    certify(environment, json.loads(settings["topic"]), f"{work}/soon")
    others = {
        "soon": {"certificate_file": json.dumps(f"{work}/soon.pem"), "private_key_file": json.dumps(f"{work}/soon.key")},
        "wrong": {"key_file": json.dumps(f"{work}/soon.key"), "key_id": settings["key_id"], "team_id": settings["team_id"]},
    }
    lines = "      credentials:\n"
    for name, own in others.items():
        keys = {key: settings[key] for key in ("topic", "endpoint", "trust_file")} | own
        lines += f"        {name}: {{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}\n"
    return declared.replace(section, section + lines)


def certify(environment, topic, path):
    """Makes a certificate as Apple does: by the simulator's authority, for a topic, and for its production service."""
    with open(f"{environment['folder']}/simulator/keys.json") as keys, open(f"{path}-authority.key", "w") as file:
        file.write(json.load(keys)["authorityKey"])
    topics = der(0x30, der(0x0C, topic.encode()), der(0x30, der(0x0C, b"app")))
    make_certificate(
        path, "push", DAYS_LEFT + 1, "-CA", f"{environment['folder']}/simulator/ca.pem", "-CAkey", f"{path}-authority.key",
        "-extensions", "v3_req", "-addext", "1.2.840.113635.100.6.3.2=DER:0500", "-addext", f"1.2.840.113635.100.6.3.6=DER:{topics.hex()}")


def der(tag, *parts):
    content = b"".join(parts)
    return bytes([tag, len(content)]) + content


def row(credential):
    return f"#main tr[data-key='apns {credential}']"


def credentials(console, environment):
    """That one ends in 20 days is said of it, and since when and why another is refused; of what is well, neither."""
    names = ("soon", "wrong")
    devices = [{"service": "apns", "handle": secrets.token_hex(32), "credential": name, "tags": [name]} for name in names]
    environment["call"]("POST", "/api/registrations/import", "\n".join(map(json.dumps, devices)), "application/x-ndjson")
    jobs = {name: environment["send"]({"to": {"tag": name}, "body": "with a credential", "label": name}) for name in names}
    console.go("app")
    console.until(f"(await (await fetch('../api/jobs/{jobs['soon']}')).json()).totals?.accepted === 1")
    console.shows(f"ends in {DAYS_LEFT} days", row("soon"))
    console.shows("refused since ", row("wrong"))
    console.shows("InvalidProviderToken", row("wrong"))
    others = console.text(row("default")) + console.text(row("soon"))
    assert "refused" not in others and others.count("ends in") == 1, others
    assert "ends in" not in console.text(row("wrong")), "the key's file has a certificate's end"
    console.press("Its sends", row("wrong"))
    console.until(f"document.querySelector('#main tr[data-key=\"{jobs['wrong']}\"]') !== null")
    console.go("")
    console.shows(f"apns.credentials.soon.certificate_file ends in {DAYS_LEFT} days")
    console.shows("APNs refuses the credential wrong")
    status, _ = console.answer("DELETE", f"jobs/{jobs['wrong']}")
    assert status in (200, 202, 204), status


# Of the table of processes, those of the worker: whether any is so, given its words.
ANY = f"[...document.querySelectorAll('#main tr[data-key]')].map(row => row.innerText).some(text => text.includes('{ROLE}') && (%s))"


def is_gone(console, number):
    """A worker that was killed is said to be gone, and that none is left."""
    console.go("")
    console.until(ANY % f"/process {number}\\b/.test(text) && text.includes('gone')")
    console.shows(f"No {ROLE} is running")


def is_back(console, environment, number):
    """It was started again: that one runs, and nobody misses one any more."""
    console.until(ANY % f"!/process {number}\\b/.test(text) && text.includes('running')")
    assert console.value(ANY % f"/process {process(environment, WORKER)}\\b/.test(text)"), "another one runs"
    console.until(f"!document.getElementById('main').innerText.includes('No {ROLE} is running')")
