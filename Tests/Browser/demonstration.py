"""The demonstration that the page is tried against (deploy/quickstart --stay), and how it is led to the test's push services."""

import base64
import contextlib
import hashlib
import os
import re
import secrets
import signal
import subprocess

from gcm import HOSTS


def read_environment(path):
    with open(path) as file:
        pairs = [line.rstrip("\n").split("=", 1) for line in file if "=" in line and not line.startswith("export")]
    environment = dict(pairs)
    environment["users"] = dict(user.split(":", 1) for user in environment["PUSHLINE_USERS"].split(","))
    environment["folder"] = os.path.dirname(environment["PUSHLINE_STORE_PATH"])
    environment["PUSHLINE_API"] = f"http://127.0.0.1:{environment['PUSHLINE_API_PORT']}"
    return environment


def process(environment, program):
    """The number of the process that runs a program now."""
    with open(f"{environment['folder']}/run/{program}.pid") as file:
        return int(file.read())


@contextlib.contextmanager
def killed(environment, program):
    """Kills a program's process at once, and gives its number. Who starts it again waits until the block has ended."""
    number = process(environment, program)
    with open(f"/proc/{number}/status") as file:
        watcher = next(int(line.split()[1]) for line in file if line.startswith("PPid:"))
    os.kill(watcher, signal.SIGSTOP)
    try:
        os.kill(number, signal.SIGKILL)
        yield number
    finally:
        os.kill(watcher, signal.SIGCONT)


def make_certificate(path, name, days, *options):
    """Makes a key and its certificate: PATH.key and PATH.pem."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days), "-subj", f"/CN={name}",
         *options, "-keyout", f"{path}.key", "-out", f"{path}.pem"],
        check=True, stderr=subprocess.DEVNULL,
    )


def certificate(work):
    """Makes the push services' certificate; the SHA-256 of its public key in base64."""
    names = ",".join(["IP:127.0.0.1", *(f"DNS:{host}" for host in HOSTS)])
    make_certificate(f"{work}/push", "127.0.0.1", 2, "-addext", f"subjectAltName={names}")
    key = subprocess.run(["openssl", "pkey", "-in", f"{work}/push.key", "-pubout", "-outform", "DER"], check=True, stdout=subprocess.PIPE)
    return base64.b64encode(hashlib.sha256(key.stdout).digest()).decode()


def declare(binaries, environment, autopush, gcm, work):
    """Lets the demonstration's app push to the test's push services."""
    folder = environment["folder"]
    with open(f"{folder}/apps.yaml") as file:
        others, web = file.read().split("    web:\n")
    with open(f"{folder}/trust.pem") as authority, open(f"{work}/push.pem") as own, open(f"{work}/trust.pem", "w") as file:
        file.write(authority.read().rstrip() + "\n" + own.read())
    places = ", ".join(f'"{host}={gcm.host}"' for host in HOSTS)
    for declared, ours in [
        ("endpoint_hosts: [", f'endpoint_hosts: ["{autopush.host}",'), ("connect_to: [", f"connect_to: [{places}"),
        (f"{folder}/trust.pem", f"{work}/trust.pem"),
    ]:
        assert declared in web, declared
        web = web.replace(declared, ours)
    settings = {**os.environ, "PUSHLINE_STORE_PATH": environment["PUSHLINE_STORE_PATH"]}

    def pushline(*arguments, text=None):
        return subprocess.run([f"{binaries}/pushline", *arguments], env=settings, input=text, check=True, stdout=subprocess.PIPE, text=True).stdout

    # Another app beside it, with a key of its own.
    shop = re.sub('public_key: "[^"]*"', f'public_key: "{pushline("keys", "vapid", f"{work}/shop.pem").strip()}"', web)
    shop = re.sub('private_key_file: "[^"]*"', f'private_key_file: "{work}/shop.pem"', shop)
    with open(f"{work}/apps.yaml", "w") as file:
        file.write(f"{others}    web:\n{web}  shop:\n    rich:\n      secure: true\n    web:\n{shop}")
    pushline("apps", "apply", f"{work}/apps.yaml")
    environment["shop"] = {}
    for user in environment["users"]:
        environment["shop"][user] = secrets.token_hex(9)
        pushline("accounts", "add", user, "--app", "shop", "--role", "user", "--password-stdin", text=environment["shop"][user] + "\n")
