"""The app's page in Firefox and Chromium, against a demonstration that stays (deploy/quickstart --stay).

    run.py BIN ENV_FILE AXE WORK [IMAGES]

Firefox has a push service of the test's own; Chromium has none that it could reach on the loopback, and goes on without notifications.
"""

import base64
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from autopush import Autopush
from chromium import Chromium
from firefox import Firefox
from page import Page

HOSTILE = "<img src=x onerror=\"document.title='taken'\"> ünï 通知 😀"
LANGUAGES = {"en": "Results", "es": "Resultados", "fr": "Résultats", "zh-Hans": "结果", "zh-Hant": "結果"}


def read_environment(path):
    with open(path) as file:
        pairs = [line.rstrip("\n").split("=", 1) for line in file if "=" in line and not line.startswith("export")]
    environment = dict(pairs)
    environment["users"] = dict(user.split(":", 1) for user in environment["PUSHLINE_USERS"].split(","))
    return environment


def declare(binaries, environment, push, work):
    """Lets the demonstration's app push to the test's push service."""
    folder = os.path.dirname(environment["PUSHLINE_STORE"]) + "/simulator"
    with open(f"{folder}/apps.yaml") as file:
        others, web = file.read().split("    web:\n")
    with open(f"{folder}/ca.pem") as authority, open(f"{work}/push.pem") as own, open(f"{work}/trust.pem", "w") as file:
        file.write(authority.read().rstrip() + "\n" + own.read())
    web = web.replace("endpoint_hosts: [", f'endpoint_hosts: ["{push.host}",').replace(f"{folder}/ca.pem", f"{work}/trust.pem")
    with open(f"{work}/apps.yaml", "w") as file:
        file.write(f"{others}    web:\n{web}")
    settings = {**os.environ, "PUSHLINE_STORE_PATH": environment["PUSHLINE_STORE"]}
    subprocess.run([f"{binaries}/pushline", "apps", "apply", f"{work}/apps.yaml"], env=settings, check=True, stdout=subprocess.DEVNULL)


def certificate(work):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{work}/push.key", "-out", f"{work}/push.pem"],
        check=True, stderr=subprocess.DEVNULL,
    )


def ends(seconds, what):
    """Each turn of a loop, until the loop is left; what fails where it is not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
    raise AssertionError(f"{what} within {seconds} s")


def totals(page, job):
    return page.value("(await (await fetch('../api/jobs/' + arguments[0])).json()).totals", job)


def rules(receiver, sender, users):
    for page in (receiver, sender):
        assert page.is_disabled("log-in") and page.is_disabled("send") and page.is_disabled("picture")
    receiver.browser.allow_notifications(receiver.url)
    receiver.subscribe()
    sender.click("without")
    for page in (receiver, sender):
        assert page.focus() == "user", page.focus()
        assert not page.is_disabled("log-in") and page.is_disabled("send")
        # No dialog: the page itself says it, and goes on.
        assert not page.enter("bob", "wrong")
        assert "401" in page.lines("results")[0] and page.is_disabled("send")
    receiver.sign_in("alice", users["alice"])
    sender.sign_in("bob", users["bob"])
    for page in (receiver, sender):
        assert page.focus() == "recipient", page.focus()


def sends(receiver, sender, push):
    jobs = sender.send("alice", HOSTILE, "wns", "gcm", "apns", "web")
    assert len(set(jobs)) == 4, "one call for each switch"
    for job in jobs:
        sender.ended(job)
    assert receiver.received(1) == [f"From bob: {HOSTILE}"]
    assert receiver.value("document.querySelectorAll('#received img').length") == 0
    assert receiver.value("document.title") == "Pushline"
    counts = totals(sender, jobs[3])
    assert (counts["targets"], counts["accepted"]) == (1, 1), counts
    assert push.acknowledged == [100], "Firefox decrypted it"
    assert len(sender.jobs()) == 4, "results are appended"


def picture(receiver, sender):
    receiver.click("picture")
    receiver.received(2)
    receiver.browser.run("document.querySelector('#received button').click()")
    receiver.until("document.getElementById('viewer').open && document.getElementById('viewer-picture').naturalWidth > 0")
    receiver.browser.run("document.getElementById('viewer').close()")
    number = receiver.value("document.getElementById('viewer-picture').alt.match(/\\d+/)[0]")
    assert receiver.call("GET", f"../api/notifications/{number}")["status"] == 200
    assert sender.call("GET", f"../api/notifications/{number}")["status"] == 404


def starts_over(receiver):
    former = receiver.value("localStorage.getItem('pushline.id.default')")
    assert receiver.call("DELETE", f"../api/register/{former}")["status"] == 200
    receiver.open()
    receiver.until("localStorage.getItem('pushline.id.default') !== null")
    assert receiver.value("localStorage.getItem('pushline.id.default')") != former
    assert not receiver.is_disabled("send"), "the session outlives a reload"


def recovers(sender, push, environment):
    push.gate.clear()
    [job] = sender.send("alice", "over the restart", "web")
    with open(os.path.dirname(environment["PUSHLINE_STORE"]) + "/run/api.pid") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    for _ in ends(60, "the API was not started again"):
        try:
            urllib.request.urlopen(environment["PUSHLINE_API"] + "/healthz", timeout=10).close()
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    push.gate.set()
    # The page's time alone: it begins when the API answers again, for how long its start takes is another matter.
    start = time.monotonic()
    sender.ended(job)
    seconds = time.monotonic() - start
    assert seconds < 5, f"the page took {seconds:.1f} s from when the API answered again"


def pruned(receiver, sender, push):
    [endpoint] = receiver.browser.run(
        "return [(await (await navigator.serviceWorker.ready).pushManager.getSubscription()).endpoint];")
    push.forget(endpoint)
    [job] = sender.send("alice", "nobody there", "web")
    sender.ended(job)
    assert totals(sender, job)["accepted"] == 0
    for _ in ends(60, "the device that is gone was not removed"):
        [job] = sender.send("alice", "still nobody", "web")
        sender.ended(job)
        if totals(sender, job)["targets"] == 0:
            return


def leaves(page):
    """What one user has written and read is not the next one's."""
    page.fill("text", "a draft")
    page.click("log-out")
    page.until("document.getElementById('log-out').hidden")
    assert page.lines("results") == page.lines("received") == []
    for field in ("user", "password", "recipient", "text"):
        assert page.value("document.getElementById(arguments[0]).value", field) == "", field
    assert page.value("localStorage.getItem('pushline.id.default')") is None
    assert page.is_disabled("send") and page.focus() == "user", page.focus()
    assert page.call("GET", "../api/session")["status"] == 401


def accessible(page, axe, images):
    for language, word in LANGUAGES.items():
        page.browser.run(
            "const list = document.getElementById('language'); list.value = arguments[0]; list.dispatchEvent(new Event('change'));", language)
        page.until("document.getElementById('results-title').textContent === arguments[0]", word)
        for scheme in ("light", "dark"):
            for width in (360, 768, 1440):
                page.browser.look(scheme, width)
                page.until(f"innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches")
                assert page.value("document.documentElement.scrollWidth") <= width, (language, width)
                found = page.browser.run(f"if (!window.axe) {{ {axe} }} return (await axe.run()).violations.map("
                                         "rule => [rule.id, rule.nodes.map(node => node.html + ' ' + node.failureSummary)]);")
                assert found == [], (page.browser.name, language, scheme, width, found)
                if images and language == "en" and width != 768:
                    with open(f"{images}/app-{page.browser.name}-{scheme}-{width}.png", "wb") as file:
                        file.write(base64.b64decode(page.browser.screenshot()))


def main(binaries, env_file, axe_file, work, images=None):
    environment = read_environment(env_file)
    os.makedirs(work)
    certificate(work)
    push = Autopush(f"{work}/push.pem", f"{work}/push.key")
    declare(binaries, environment, push, work)
    environment["PUSHLINE_API"] = f"http://127.0.0.1:{environment['PUSHLINE_API_PORT']}"
    with open(axe_file) as file:
        axe = file.read()
    url = environment["PUSHLINE_URL"] + "/app/"
    browsers = []
    try:
        browsers.append(Firefox(f"{work}/firefox", push))
        browsers.append(Chromium(f"{work}/chromium"))
        receiver, sender = (Page(browser, url) for browser in browsers)
        for page in (receiver, sender):
            page.open()
        steps = [
            ("the classic rules; a wrong password", lambda: rules(receiver, sender, environment["users"])),
            ("a send to each service; a hostile text", lambda: sends(receiver, sender, push)),
            ("a picture for its addressee alone", lambda: picture(receiver, sender)),
            ("410 starts over", lambda: starts_over(receiver)),
            ("the API is killed while a job runs", lambda: recovers(sender, push, environment)),
            ("a subscription that is gone", lambda: pruned(receiver, sender, push)),
            ("accessibility in Firefox", lambda: accessible(receiver, axe, images)),
            ("accessibility in Chromium", lambda: accessible(sender, axe, images)),
            ("log-out leaves nothing", lambda: [leaves(page) for page in (receiver, sender)]),
        ]
        for name, step in steps:
            start = time.monotonic()
            step()
            print(f"  {name}: passed after {time.monotonic() - start:.1f} s", flush=True)
        for browser in browsers:
            # The wrong password, the other's picture and the killed API are in it, as they must be.
            # Asked for once: Chromium's driver hands each message out one time, whoever it is about.
            problems = [line for line in browser.problems(environment["PUSHLINE_URL"]) if "Failed to load resource" not in line]
            assert problems == [], problems
    finally:
        push.gate.set()
        for browser in browsers:
            browser.close()
    print("done: the app's page works in both browsers")


if __name__ == "__main__":
    main(*sys.argv[1:])
