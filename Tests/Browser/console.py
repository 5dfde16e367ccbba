"""The console in Chromium, and its main scene in Firefox, against a demonstration that stays (deploy/quickstart --stay).

    console.py BIN ENV_FILE AXE WORK IMAGES [--million]

20,000 devices are sent to as fast as the app is declared to. Screenshots go to IMAGES; with --million nothing else is done than to make those
of the documents, while a million devices are sent to.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request

import console_acts as acts
import console_bulk as bulk
import console_failures as failures
import console_host as host
import console_pictures as pictures
import console_proxied as proxied
import console_scenes as scenes
from chromium import Chromium
from console_page import Console
from demonstration import killed, read_environment
from firefox import Firefox
from proxy import Proxy

# How many devices there are, and how many a second each service is sent to.
DEVICES, A_SECOND = 20_000, {"fcm": 2500}
MILLION, A_SECOND_OF_MILLION = 1_000_000, {"fcm": 15_000, "apns": 10_000}

# Of devices that are imported at a time.
PIECE = 20_000

# What Chromium's console says of answers that a scene provokes on purpose: nobody is signed in, an expression is wrong, a viewer may not, the last
# operator is to be removed, the API is killed.
EXPECTED = re.compile(
    r"/api/(session - .* 401 |sends/(count|preview) - .* 400 |queues/send/pause - .* 403 |accounts/boss\?self=true - .* 409 "
    r"|\S* - Failed to load resource: net::ERR_)")


class NoPush:
    """The console needs no push service."""

    switches = []
    websocket = "ws://127.0.0.1:9/"


def handle(service, number):
    return secrets.token_hex(32) if service == "apns" else f"fcm{number:07}{secrets.token_hex(8)}:APA91b{secrets.token_hex(24)}"


def prepare(binaries, environment, work, devices, a_second):
    """Devices, those who may sign in, and a speed at which a send can be watched."""
    folder = environment["folder"]
    settings = {**os.environ, "PUSHLINE_STORE_PATH": environment["PUSHLINE_STORE_PATH"], "PUSHLINE_API_CONSOLE_PORT": environment["PUSHLINE_API_CONSOLE_PORT"]}

    def pushline(*arguments, text=None):
        return subprocess.run([f"{binaries}/pushline", *arguments], env=settings, input=text, check=True, stdout=subprocess.PIPE, text=True).stdout

    def call(method, path, body, kind="application/json", url=environment["PUSHLINE_API"]):
        headers = {"Authorization": f"Bearer {environment['PUSHLINE_OPERATOR_KEY']}", "Content-Type": kind}
        with urllib.request.urlopen(urllib.request.Request(url + path, body.encode(), headers, method=method), timeout=120) as answer:
            return json.load(answer)

    with open(f"{folder}/apps.yaml") as file:
        declared = file.read()
    for service, speed in a_second.items():
        assert f"\n    {service}:\n" in declared
        declared = declared.replace(f"\n    {service}:\n", f"\n    {service}:\n      devices_per_second: {speed}\n")
    with open(f"{work}/apps.yaml", "w") as file:
        file.write(host.declare_credentials(declared, environment, work))
    pushline("apps", "apply", f"{work}/apps.yaml")
    for name, role in (("boss", "operator"), ("watch", "viewer")):
        pushline("accounts", "add", name, "--role", role, "--password-stdin", text=secrets.token_hex(9) + "\n")
    services = list(a_second)
    handles = [(services[number % len(services)], handle(services[number % len(services)], number)) for number in range(devices)]
    for start in range(0, devices, PIECE):
        lines = "\n".join(json.dumps({"service": service, "handle": handle, "tags": ["crowd", *(["few"] if number < 20 else [])]})
                          for number, (service, handle) in enumerate(handles[start:start + PIECE], start))
        summary = call("POST", "/api/registrations/import", lines, "application/x-ndjson")
        assert summary["created"] == min(PIECE, devices - start), summary
    for token in [handle for service, handle in handles[100:120] if service == "fcm"][:7]:
        call("POST", "/faults", json.dumps({"service": "fcm", "token": token, "reason": "UNREGISTERED"}), url=environment["PUSHLINE_SIMULATOR_URL"])
    environment["handle"] = handles[0][1]
    environment["pushline"] = pushline
    environment["call"] = call
    environment["send"] = lambda body: call("POST", "/api/sends", json.dumps(body))["id"]
    return lambda name: pushline("console", "--as", name).strip().rsplit("#link=", 1)[1]


def refuses_plain_http(binaries, environment):
    """An operator's session is not for plain HTTP: off loopback there is TLS, or no API."""
    settings = {**os.environ, "PUSHLINE_STORE_PATH": environment["PUSHLINE_STORE_PATH"], "PUSHLINE_BROKER_URL": environment["PUSHLINE_BROKER_URL"],
                "PUSHLINE_API_PORT": "1", "PUSHLINE_API_CONSOLE_PORT": "2", "PUSHLINE_API_CONSOLE_HOST": "0.0.0.0"}
    ended = subprocess.run([f"{binaries}/pushline-api"], env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, text=True)
    assert ended.returncode != 0 and "api.console_host" in ended.stdout, ended.stdout


def small_and_quick(console):
    console.start()
    console.until("document.querySelector('#nav a') !== null")
    loaded = console.value("performance.getEntriesByType('resource').filter(entry => entry.name.includes('/console/')).map(entry => entry.encodedBodySize)")
    whole = sum(loaded) + console.value("performance.getEntriesByType('navigation')[0].encodedBodySize")
    assert len(loaded) > 20 and 0 < whole < 120_000, (len(loaded), whole)
    # The best of some: beside other work the first says nothing of the page.
    times = []
    while len(times) < 30 and min(times, default=300) >= 300:
        console.start()
        times.append(console.value("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
    ready = min(times)
    print(f"  {whole} bytes, DOMContentLoaded after {ready:.0f} ms")
    assert ready < 300, ready


def step(name, work, *arguments):
    start = time.monotonic()
    result = work(*arguments)
    print(f"  {name}: passed after {time.monotonic() - start:.1f} s", flush=True)
    return result


def main_scene(console, images):
    name = console.browser.name
    # Those that were refused are gone for the second browser.
    status, found = console.answer("POST", "sends/count", '{"to": {"tag": "crowd"}}')
    assert status == 200 and DEVICES - 10 < found["total"] <= DEVICES, (status, found)
    devices = found["total"]
    job = step(f"{name}: compose, count, send", scenes.composes, console, devices, f"crowd-{name}")
    pictures.in_both_schemes(console, f"{images}/console-send-{name}")
    step(f"{name}: {devices:,} devices", scenes.goes_out, console, job, devices)
    return job


def play(console, environment, axe, images):
    step("sign-in", scenes.signs_in, console)
    step("small and quick", small_and_quick, console)
    step("strangers", scenes.strangers, console, environment)
    step("overview", scenes.overview, console)
    step("what needs somebody", failures.says_what_needs_somebody, console)
    step("what a cancel loses", failures.says_what_a_cancel_loses, console)
    job = main_scene(console, images)
    step("its devices as NDJSON", scenes.failed_devices, console, job)
    step("a pause", scenes.pauses, console, environment)
    step("the list stays", scenes.list_stays, console, environment)
    expired = step("a send expires", failures.expires, console, environment)
    step("finding a device", acts.finds, console, environment)
    step("people", scenes.people, console)
    step("a viewer", scenes.watches, console)
    cancelled = step("a scheduled send", acts.scheduled, console, environment)
    step("pausing all sends", acts.pauses_all, console, environment)
    step("audit", acts.audited, console)
    # A process is gone after 15 seconds of silence: credentials are looked at meanwhile.
    with killed(environment, host.WORKER) as number:
        step("credentials", host.credentials, console, environment)
        step("a worker is gone", host.is_gone, console, number)
    step("it is back", host.is_back, console, environment, number)
    # While its lists are short: axe looks at each row, 66 times.
    step("accessibility", pictures.accessible, console, axe, images, f"sends/{expired}", "sends?failures=true", "audience?tag=few", f"sends/{cancelled}")
    step("cancelling many", bulk.cancels_many, console, environment)
    step("dead letters", bulk.replays, console, environment)
    step("a pause of all apps", bulk.pauses_everywhere, console, environment)
    proxy = Proxy(int(environment["PUSHLINE_API_CONSOLE_PORT"]), "/ops/pushline")
    try:
        behind = step("below a path", proxied.below_a_path, console, proxy, environment)
        step("a hidden tab", proxied.hidden_tab, behind, proxy)
        step("an answer is lost", proxied.answer_is_lost, behind, proxy, environment)
        step("killed between act and answer", proxied.killed_between, behind, proxy, environment)
    finally:
        proxy.close()
    console.sign_in("boss")
    step("the last operator", bulk.last_operator, console)
    step("the API is killed", scenes.recovers, console, environment)
    problems = [line for line in console.browser.problems("http://127.0.0.1:") if not EXPECTED.search(line)]
    assert problems == [], problems


def take_pictures(link, url, environment, work):
    browser = Chromium(f"{work}/chromium", NoPush, "")
    try:
        console = Console(browser, url, link)
        console.sign_in("boss")
        step(f"{MILLION:,} devices", pictures.campaign, console, environment, MILLION)
    finally:
        browser.close()


def main(binaries, env_file, axe_file, work, images, *options):
    is_million = options == ("--million",)
    environment = read_environment(env_file)
    os.makedirs(work)
    url = f"http://127.0.0.1:{environment['PUSHLINE_API_CONSOLE_PORT']}/console/"
    devices, a_second = (MILLION, A_SECOND_OF_MILLION) if is_million else (DEVICES, A_SECOND)
    link = step(f"{devices:,} devices are registered", prepare, binaries, environment, work, devices, a_second)
    if is_million:
        return take_pictures(link, url, environment, work)
    step("off loopback", refuses_plain_http, binaries, environment)
    with open(axe_file) as file:
        axe = file.read()
    browser = Chromium(f"{work}/chromium", NoPush, "")
    try:
        play(Console(browser, url, link), environment, axe, images)
    finally:
        browser.close()
    browser = Firefox(f"{work}/firefox", NoPush)
    try:
        console = Console(browser, url, link)
        console.sign_in("boss")
        main_scene(console, images)
    finally:
        browser.close()
    print("done: the console works in both browsers")


if __name__ == "__main__":
    main(*sys.argv[1:])
