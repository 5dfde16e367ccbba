"""The app's page in Firefox and Chromium, against a demonstration that stays (deploy/quickstart --stay).

    run.py BIN ENV_FILE AXE WORK IMAGES

Each browser subscribes at a push service of the test's own, and decrypts what the other's user sends. Screenshots go to IMAGES.
"""

import base64
import concurrent.futures
import os
import re
import sys
import time

import scenes
from autopush import Autopush
from chromium import Chromium
from demonstration import certificate, declare, read_environment
from firefox import Firefox
from gcm import GCM
from page import Page

LANGUAGES = {"en": "Results", "es": "Resultados", "fr": "Résultats", "zh-Hans": "结果", "zh-Hant": "結果"}
WIDTHS = {360: "narrow", 768: None, 1440: "wide"}

# Messages of Chromium's console about answers that a scene provokes on purpose: nobody is signed in, a picture is another's, a registration is gone, the
# API is killed.
EXPECTED = re.compile(
    r"/api/(apps/shop/)?(session|notifications(\?\S*)?) - Failed to load resource: .* 401 "
    r"|/api/notifications/\d+ - Failed to load resource: .* 404 "
    r"|/api/register/\w+ - Failed to load resource: .* 410 "
    r"|/api/jobs/\S+ - Failed to load resource: net::ERR_")


def accessible(page, axe, images, state):
    page.browser.run(f"if (!window.axe) {{ {axe} }}")
    for language, word in reversed(LANGUAGES.items()):
        page.browser.run(
            "const list = document.getElementById('language'); list.value = arguments[0]; list.dispatchEvent(new Event('change'));", language)
        page.until("document.getElementById('results-title').textContent === arguments[0]", word)
        for scheme in ("dark", "light"):
            for width, name in WIDTHS.items():
                page.browser.look(scheme, width)
                page.until(f"innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches")
                assert page.value("document.documentElement.scrollWidth") <= width, (language, width)
                found = page.browser.run("return (await axe.run()).violations.map("
                                         "rule => [rule.id, rule.nodes.map(node => node.html + ' ' + node.failureSummary)]);")
                assert found == [], (page.browser.name, state, language, scheme, width, found)
                if language == "en" and name:
                    folder = f"{images}/{page.browser.name}"
                    os.makedirs(folder, exist_ok=True)
                    with open(f"{folder}/{state}-{name}-{scheme}.png", "wb") as file:
                        file.write(base64.b64decode(page.browser.screenshot()))


def same_origin(page, origin):
    """Nothing that the page or its worker asked for was another's."""
    requests = page.browser.requests(origin)
    # The page's own, and the worker's.
    for part in ("/api/session", "/api/register/", "/app/texts-en.json", "/api/notifications/"):
        assert any(url.startswith(origin + part) for url in requests), (page.browser.name, part, len(requests))
    foreign = [url for url in requests if not url.startswith((origin + "/", f"blob:{origin}/"))]
    assert foreign == [], (page.browser.name, foreign)


def step(name, work, *arguments):
    start = time.monotonic()
    work(*arguments)
    print(f"  {name}: passed after {time.monotonic() - start:.1f} s", flush=True)


def play(pages, environment, axe, images):
    def both(work):
        with concurrent.futures.ThreadPoolExecutor() as threads:
            list(threads.map(work, pages))

    def accessible_as(state):
        step(f"accessibility: {state}", both, lambda page: accessible(page, axe, images, state))

    step("the page is there", both, Page.open)
    accessible_as("start")
    step("the classic rules; a wrong password", both, scenes.rules)
    accessible_as("error")
    step("sign-in", both, scenes.signs_in)
    directions = [tuple(pages), tuple(reversed(pages))]
    for receiver, sender in directions:
        step(f"{receiver.browser.name}: a send to each service", scenes.sends, receiver, sender, "Lunch at noon?")
    accessible_as("app")
    for receiver, sender in directions:
        step(f"{receiver.browser.name}: a hostile text", scenes.sends, receiver, sender, scenes.HOSTILE)
    for receiver, sender in directions:
        step(f"{receiver.browser.name}: a picture for its addressee alone", scenes.picture, receiver, sender)
    accessible_as("picture")
    step("a notification is opened where no page was", both, scenes.opened)
    step("the picture is closed", both, scenes.closes)
    for receiver, sender in directions:
        step(f"{receiver.browser.name}: a backend's message", scenes.composed, receiver, environment)
    step("another app's page", both, lambda page: scenes.other_app(page, page.user, environment["shop"][page.user]))
    for receiver, sender in directions:
        name = receiver.browser.name
        step(f"{name}: 410 starts over", scenes.starts_over, receiver, sender)
        step(f"{name}: the API is killed while a job runs", scenes.recovers, receiver, sender, environment)
        step(f"{name}: three tabs of the sender's", scenes.crowd, receiver, sender)
        step(f"{name}: the session ends by itself", scenes.expires, receiver)
    firefox, chromium = pages
    # Chromium has nothing by which a test could have it give up a subscription.
    step("firefox: the browser renews its subscription", scenes.renewed, firefox, chromium)
    for receiver, sender in directions:
        name = receiver.browser.name
        step(f"{name}: log-out leaves nothing", scenes.leaves, receiver, sender)
        step(f"{name}: log-out, and the registration cannot be removed", scenes.leaves_without_server, receiver, sender)
        step(f"{name}: a subscription that is gone", scenes.gone, receiver, sender)
    assert set(firefox.browser.push.acknowledged) == {100}, "Firefox decrypted each push"
    for page in pages:
        # Asked for once: Chromium's driver hands each message out one time, whoever it is about.
        problems = [line for line in page.browser.problems(environment["PUSHLINE_URL"]) if not EXPECTED.search(line)]
        assert problems == [], (page.browser.name, problems)


def main(binaries, env_file, axe_file, work, images):
    environment = read_environment(env_file)
    os.makedirs(work)
    key_hash = certificate(work)
    autopush, gcm = Autopush(f"{work}/push.pem", f"{work}/push.key"), GCM(f"{work}/push.pem", f"{work}/push.key")
    declare(binaries, environment, autopush, gcm, work)
    with open(axe_file) as file:
        axe = file.read()
    origin = environment["PUSHLINE_URL"]
    browsers = []
    try:
        browsers.append(Firefox(f"{work}/firefox", autopush))
        browsers.append(Chromium(f"{work}/chromium", gcm, key_hash))
        pages = [Page(browser, origin + "/app/", user, environment["users"][user]) for browser, user in zip(browsers, ("alice", "carol"))]
        play(pages, environment, axe, images)
        same_origin(pages[0], origin)
        browsers.pop().close()
        same_origin(pages[1], origin)
    finally:
        for service in (autopush, gcm):
            service.gate.set()
        for browser in browsers:
            browser.close()
    print("done: the app's page works in both browsers")


if __name__ == "__main__":
    main(*sys.argv[1:])
