"""The console behind a reverse proxy that has it below a path of its own, and that loses answers. Each waits for states of the page alone."""

import concurrent.futures
import http.client
import json
import os
import secrets
import signal

from console_bulk import tomorrow
from console_page import PAGES, Console
from demonstration import process

THERE = "await fetch('../api/session').then(answer => answer.ok, () => false)"

ASKED = "performance.getEntriesByType('resource').filter(entry => entry.name.endsWith('/api/{}')).length"


def kill_api(environment):
    os.kill(process(environment, "api"), signal.SIGKILL)


def below_a_path(console, proxy, environment):
    """Each page works below the proxy's path, no address leads out of it, and a send's events come through."""
    behind = Console(console.browser, proxy.url + "/console/", console.link)
    behind.sign_in("boss")
    for place in PAGES:
        behind.go(place)
        leading = behind.value("[...document.querySelectorAll('[href], [src]')].map(element => element.href ?? element.src)"
                               ".filter(url => !url.startsWith(arguments[0]))", proxy.url + "/")
        assert leading == [], (place, leading)
    job = environment["send"]({"to": {"tag": "few"}, "body": "behind", "label": "behind", "at": tomorrow()})
    behind.go(f"sends/{job}")
    behind.until("document.getElementById('state').textContent === 'scheduled'")
    behind.press("Cancel …")
    behind.press("Cancel the send", "#dialog")
    behind.until("document.getElementById('state').textContent === 'cancelled'")
    # It has its state by events: it has never asked for it.
    assert proxy.events.get(f"/api/jobs/{job}/events", 0) >= 1 and f"/api/jobs/{job}" not in proxy.requests, proxy.events
    assert proxy.strays == [], proxy.strays
    return behind


def hidden_tab(behind, proxy):
    """A tab that nobody sees asks for nothing, while another asks for its queues five times, every two seconds; seen again, it does."""
    browser = behind.browser
    behind.start("#/")
    behind.shows("Devices a second")
    first = browser.tab()
    second = browser.new_tab()
    try:
        behind.start("#/queues")
        behind.until(ASKED.format("queues") + " >= 1")
        before = proxy.requests.count("/api/overview")
        behind.until(ASKED.format("queues") + " >= 6")
        assert proxy.requests.count("/api/overview") == before, "a hidden tab asks"
        browser.close_tab()
    finally:
        browser.switch(first)
    before = behind.value(ASKED.format("overview"))
    behind.until(f"{ASKED.format('overview')} > {before}")


def answer_is_lost(behind, proxy, environment):
    """The API dies between an act and its answer: the page does not say that it was done, shows that it was, and the audit has it once."""
    before = acts(behind, "queue.pause", "deliver.web")
    behind.go("queues")
    behind.press("Pause deliver.web")
    proxy.lose(1, lambda: kill_api(environment))
    behind.press("Pause it", "#dialog")
    behind.shows("the server does not answer; nothing is known of what became of it", "#dialog")
    proxy.hand_on()
    behind.press("Back", "#dialog")
    behind.until("document.getElementById('connection').hidden")
    behind.press("Resume deliver.web")
    behind.notice("deliver.web is resumed")
    assert acts(behind, "queue.pause", "deliver.web") == ["done", *before], "one act, one row"


def acts(behind, action, target):
    """The states of the acts of that kind on that target, the newest first."""
    status, found = behind.answer("GET", f"audit?action={action}&limit=1000")
    assert status == 200, found
    return [act["state"] for act in found["items"] if target in (act.get("user"), act.get("target", "").split(",")[0])]


def killed_between(behind, proxy, environment):
    """Acts of one commit each have one row if they are done, and none if they are not, wherever the API is killed; one of many has one."""
    jobs = [environment["send"]({"to": {"tag": "few"}, "body": "killed", "label": "killed", "at": tomorrow()}) for _ in range(4)]
    names = [f"killed-{number}" for number in range(6)]
    keys = [("POST", "keys", {"name": name, "role": "sender"}, "key.add", name) for name in names]
    people = [("POST", "accounts", {"name": name, "role": "viewer", "password": secrets.token_hex(9)}, "account.add", name) for name in names]
    cancels = [("DELETE", f"jobs/{job}", None, "job.cancel", job) for job in jobs]
    # All are done, and nobody hears it.
    lost(behind, proxy, environment, [*keys[:3], *people[:3], *cancels[:2]], answers=8)
    assert all(compare(behind, act) == 1 for act in [*keys[:3], *people[:3], *cancels[:2]])
    # The first is done; of the others anything may be.
    lost(behind, proxy, environment, [*keys[3:], *people[3:], *cancels[2:]], answers=1)
    assert sum(compare(behind, act) for act in [*keys[3:], *people[3:], *cancels[2:]]) >= 1, "nothing was done"
    # Of several commits: that it began is written before anything is done.
    newest = behind.answer("GET", "jobs?label=killed&limit=1")[1]["items"][0]["id"]
    environment["send"]({"to": {"tag": "few"}, "body": "killed", "label": "killed", "at": tomorrow()})
    lost(behind, proxy, environment, [("POST", "jobs/cancel", {"label": "killed", "upTo": newest}, None, None)], answers=1)
    _, cancelled = behind.answer("GET", "audit?action=job.cancel&limit=1000")
    found = [act["state"] for act in cancelled["items"] if act.get("target", "").startswith("all: label killed")]
    assert len(found) == 1 and found[0] in ("begun", "done"), found


def compare(behind, act):
    """How often it is done: as often as the audit says."""
    _, path, _, action, target = act
    if action == "job.cancel":
        done = behind.answer("GET", path)[1]["state"] == "cancelled"
    else:
        done = any(item["name"] == target for item in behind.answer("GET", path)[1]["items"])
    assert acts(behind, action, target) == (["done"] if done else []), (act, done, acts(behind, action, target))
    return int(done)


def lost(behind, proxy, environment, wanted, answers):
    """Does them side by side; the API is killed once so many answers have come, and nobody gets one."""
    cookie = "; ".join(f"{entry['name']}={entry['value']}" for entry in behind.browser.cookies())
    host = proxy.url.split("/")[2]

    def act(item):
        method, path, body, *_ = item
        connection = http.client.HTTPConnection(host, timeout=120)
        try:
            connection.request(method, f"{proxy.prefix}/api/{path}", json.dumps(body) if body else None,
                               {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"})
            raise AssertionError(f"{path}: {connection.getresponse().status}, and its answer was to be lost")
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    proxy.lose(answers, lambda: kill_api(environment))
    try:
        with concurrent.futures.ThreadPoolExecutor(len(wanted)) as threads:
            list(threads.map(act, wanted))
    finally:
        proxy.hand_on()
    behind.until(THERE)
