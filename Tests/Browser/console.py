"""The console in Chromium, and its main scene in Firefox, against a demonstration that stays (deploy/quickstart --stay).

    console.py BIN ENV_FILE AXE WORK IMAGES

20,000 devices are sent to as fast as the app is declared to. Screenshots go to IMAGES.
"""

import base64
import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request

import console_scenes as scenes
from chromium import Chromium
from console_page import PAGES, Console
from demonstration import read_environment
from firefox import Firefox

DEVICES = 20_000
A_SECOND = 2500

# What Chromium's console says of answers that a scene provokes on purpose: nobody is signed in, an expression is wrong, a viewer may not, the API is killed.
EXPECTED = re.compile(r"/api/(session - .* 401 |sends/(count|preview) - .* 400 |queues/send/pause - .* 403 |\S* - Failed to load resource: net::ERR_)")


class NoPush:
    """The console needs no push service."""

    switches = []
    websocket = "ws://127.0.0.1:9/"


def prepare(binaries, environment, work):
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
    assert "\n    fcm:\n" in declared
    with open(f"{work}/apps.yaml", "w") as file:
        file.write(declared.replace("\n    fcm:\n", f"\n    fcm:\n      devices_per_second: {A_SECOND}\n"))
    pushline("apps", "apply", f"{work}/apps.yaml")
    for name, role in (("boss", "operator"), ("watch", "viewer")):
        pushline("accounts", "add", name, "--role", role, "--password-stdin", text=secrets.token_hex(9) + "\n")
    handles = [f"fcm{number:05}{secrets.token_hex(8)}:APA91b{secrets.token_hex(24)}" for number in range(DEVICES)]
    lines = "\n".join(json.dumps({"service": "fcm", "handle": handle, "tags": ["crowd", *(["few"] if number < 20 else [])]}) for number, handle in enumerate(handles))
    summary = call("POST", "/api/registrations/import", lines, "application/x-ndjson")
    assert summary["created"] == DEVICES, summary
    for handle in handles[100:107]:
        call("POST", "/faults", json.dumps({"service": "fcm", "token": handle, "reason": "UNREGISTERED"}), url=environment["PUSHLINE_SIMULATOR_URL"])
    environment["handle"] = handles[0]
    environment["send"] = lambda body: call("POST", "/api/sends", json.dumps(body))["id"]
    return lambda name: pushline("console", "--as", name).strip().rsplit("#link=", 1)[1]


def refuses_plain_http(binaries, environment):
    """An operator's session is not for plain HTTP: off loopback there is TLS, or no API."""
    settings = {**os.environ, "PUSHLINE_STORE_PATH": environment["PUSHLINE_STORE_PATH"], "PUSHLINE_BROKER_URL": environment["PUSHLINE_BROKER_URL"],
                "PUSHLINE_API_PORT": "1", "PUSHLINE_API_CONSOLE_PORT": "2", "PUSHLINE_API_CONSOLE_HOST": "0.0.0.0"}
    ended = subprocess.run([f"{binaries}/pushline-api"], env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, text=True)
    assert ended.returncode != 0 and "api.console_host" in ended.stdout, ended.stdout


def accessible(console, axe, images):
    """No page is wider than the screen or has anything that axe finds, in both schemes at three widths."""
    for place in PAGES:
        console.go(place)
        console.browser.run(f"if (!window.axe) {{ {axe} }}")
        for scheme in ("dark", "light"):
            for width in (360, 768, 1440):
                console.browser.look(scheme, width)
                console.until(f"innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches")
                assert console.value("document.documentElement.scrollWidth") <= width, (place, width)
                found = console.browser.run("return (await axe.run()).violations.map(rule => [rule.id, rule.nodes.map(node => node.html + ' ' + node.failureSummary)]);")
                assert found == [], (place, scheme, width, found)
                if width == 1440 or (place == "" and width == 360):
                    picture(console, f"{images}/console-{place or 'overview'}-{'wide' if width == 1440 else 'narrow'}-{scheme}")


def picture(console, name):
    with open(f"{name}.png", "wb") as file:
        file.write(base64.b64decode(console.browser.screenshot()))


def small_and_quick(console):
    console.start()
    console.until("document.querySelector('#nav a') !== null")
    loaded = console.value("performance.getEntriesByType('resource').filter(entry => entry.name.includes('/console/')).map(entry => entry.encodedBodySize)")
    whole = sum(loaded) + console.value("performance.getEntriesByType('navigation')[0].encodedBodySize")
    assert len(loaded) > 20 and 0 < whole < 120_000, (len(loaded), whole)
    # The best of some: beside other work the first says nothing of the page.
    times = []
    while len(times) < 10 and min(times, default=300) >= 300:
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
    for scheme in ("dark", "light"):
        console.browser.look(scheme, 1440)
        picture(console, f"{images}/console-send-{name}-{scheme}")
    step(f"{name}: {devices:,} devices", scenes.goes_out, console, job, devices)
    return job


def play(console, environment, axe, images):
    step("sign-in", scenes.signs_in, console)
    step("small and quick", small_and_quick, console)
    step("strangers", scenes.strangers, console, environment)
    step("overview", scenes.overview, console)
    job = main_scene(console, images)
    step("its devices as NDJSON", scenes.failed_devices, console, job)
    step("a pause", scenes.pauses, console, environment)
    step("the list stays", scenes.list_stays, console, environment)
    step("audience", scenes.audience, console, environment)
    step("people", scenes.people, console)
    step("a viewer", scenes.watches, console)
    step("audit", scenes.audited, console)
    step("accessibility", accessible, console, axe, images)
    step("the API is killed", scenes.recovers, console, environment)
    problems = [line for line in console.browser.problems(console.url.rsplit("/console/", 1)[0]) if not EXPECTED.search(line)]
    assert problems == [], problems


def main(binaries, env_file, axe_file, work, images):
    environment = read_environment(env_file)
    os.makedirs(work)
    url = f"http://127.0.0.1:{environment['PUSHLINE_API_CONSOLE_PORT']}/console/"
    link = prepare(binaries, environment, work)
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
