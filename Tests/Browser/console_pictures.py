"""Screenshots of the console. Each is taken in a state of the page."""

import base64
import os
import time

from console_page import PAGES
from console_scenes import DONE, sends_it

DOCUMENTS = os.path.join(os.path.dirname(__file__), "../../docs/images")


def picture(console, name, is_whole=True):
    with open(f"{name}.png", "wb") as file:
        file.write(base64.b64decode(console.browser.screenshot(is_whole)))


def in_both_schemes(console, name, is_whole=True):
    for scheme in ("dark", "light"):
        console.browser.look(scheme, 1440)
        console.until(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        picture(console, f"{name}-{scheme}", is_whole)


def accessible(console, axe, images, *others):
    """No page is wider than the screen or has anything that axe finds, in both schemes at three widths."""
    for place in [*PAGES, *others]:
        console.go(place)
        console.browser.run(f"if (!window.axe) {{ {axe} }}")
        for scheme in ("dark", "light"):
            for width in (360, 768, 1440):
                console.browser.look(scheme, width)
                console.until(f"innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches")
                assert console.value("document.documentElement.scrollWidth") <= width, (place, width)
                found = console.browser.run("return (await axe.run()).violations.map(rule => [rule.id, rule.nodes.map(node => node.html + ' ' + node.failureSummary)]);")
                assert found == [], (place, scheme, width, found)
                if place in PAGES and width == 1440 or (place == "" and width == 360):
                    picture(console, f"{images}/console-{place or 'overview'}-{'wide' if width == 1440 else 'narrow'}-{scheme}")


def campaign(console, environment, devices):
    """A campaign to everybody while it goes out, for the documents."""
    for label, title in (("weekend-offer", "Two for one"), ("renewals", "Your ticket")):
        at = time.strftime("%Y-%m-%dT18:00:00Z", time.gmtime(time.time() + 86400))
        environment["send"]({"to": {"tag": "few"}, "title": title, "label": label, "at": at})
    console.go("compose")
    console.press("Clear")
    console.enter_into("Which", "crowd")
    console.shows(f"{devices:,} devices")
    console.enter_into("Title", "Doors open at seven")
    console.enter_into("Text", "The support act begins at eight. See you there.")
    console.enter_into("Label", "spring-tour")
    job = sends_it(console, devices)
    console.until(f"{DONE} > {devices * 3 // 10}")
    in_both_schemes(console, f"{DOCUMENTS}/console-send", False)
    console.go("")
    console.shows("spring-tour")
    # The line of devices a second begins with the page: it has some of a minute before it is shown.
    row = "[...document.querySelectorAll('#main tr')].find(row => row.innerText.includes('spring-tour'))"
    console.until(f"{row}?.querySelector('progress').value > 0.6")
    in_both_schemes(console, f"{DOCUMENTS}/console-overview", False)
    console.go(f"sends/{job}")
    console.until("document.getElementById('state').textContent === 'completed'")
    _, found = console.answer("GET", f"jobs/{job}")
    assert found["totals"]["targets"] == devices, found["totals"]
