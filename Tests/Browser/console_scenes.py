"""What an operator does on the console, and what the page has to show. Each waits for states of the page alone."""

import json
import time
import urllib.error
import urllib.request

from demonstration import killed

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"

DONE = "Number(document.getElementById('done').textContent.replaceAll(',', ''))"


def signs_in(console):
    """A wrong password opens no dialog; a link signs in once, and its secret is in no address."""
    console.start()
    console.enter_into("Name", "boss")
    console.enter_into("Password", "wrong")
    console.press("Sign in")
    console.shows("Name or password is wrong.")
    link = console.link("boss")
    console.start("#link=" + link)
    console.until("document.querySelector('#nav a') !== null")
    assert link not in console.value("location.href"), "the secret stands in the address"
    assert console.answer("DELETE", "session")[0] == 204
    console.start("#link=" + link)
    console.shows("This link was used before")
    console.sign_in("boss")


def strangers(console, environment):
    """A page of another origin, and the cookie of the app's page, are let in nowhere."""
    origin = console.url.rsplit("/console/", 1)[0]
    cookie = "; ".join(f"{entry['name']}={entry['value']}" for entry in console.browser.cookies())
    for headers, status in [({"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}, 403), ({"Cookie": cookie, "Sec-Fetch-Site": "same-site"}, 403),
                            ({"Cookie": cookie.replace("__Host-console", "__Host-pushline"), "Sec-Fetch-Site": "same-origin"}, 401)]:
        request = urllib.request.Request(f"{origin}/api/queues/send/pause", b"", {**headers, "Content-Type": "application/json"}, method="POST")
        try:
            urllib.request.urlopen(request, timeout=10).close()
            raise AssertionError(f"{headers}: let in")
        except urllib.error.HTTPError as error:
            assert error.code == status, (headers, error.code)


def overview(console):
    console.go("")
    console.shows("Devices a second")
    console.shows("deliver.fcm")


def composes(console, devices, label):
    """A message is seen and counted before it is sent; the number is typed; pressed twice it is one job."""
    console.go("compose")
    console.press("Clear")
    console.enter_into("Which", "crowd && && x")
    console.shows("Column 10")
    console.enter_into("Which", "crowd")
    console.shows(f"{devices:,} devices")
    console.enter_into("Title", HOSTILE)
    console.enter_into("Text", "x" * 5000)
    console.shows("too many")
    assert not console.has("Send"), "what is too large can be sent"
    console.enter_into("Text", "It begins.")
    console.enter_into("Label", label)
    job = sends_it(console, devices)
    status, jobs = console.answer("GET", f"jobs?label={label}")
    assert status == 200 and [item["id"] for item in jobs["items"]] == [job], "it was sent twice"
    return job


def sends_it(console, devices):
    """Sends what is written: to so many, the number is typed. Pressed twice; the job that it leads to."""
    console.until("!document.getElementById('send').disabled")
    console.press("Send")
    assert f"{devices:,} devices" in console.dialog()
    assert not console.has("Send it", "#dialog"), "the number was not typed"
    console.enter_into("Type", str(devices), "#dialog")
    console.browser.run("const form = document.querySelector('#dialog form'); form.requestSubmit(); form.requestSubmit();")
    console.until("location.hash.startsWith('#/sends/')")
    return console.value("location.hash.split('/')[2]")


def goes_out(console, job, devices):
    """The bar moves, the numbers add up at each look, and the end is the API's, without a reload."""
    console.until(DONE + " > 0")
    seen, left = set(), set()
    while True:
        state = console.value(
            "({ state: document.getElementById('state').textContent, done: document.getElementById('done').textContent,"
            " left: [...document.querySelectorAll('#main .figure')].find(figure => figure.firstChild.textContent === 'Time left').children[1].textContent })")
        seen.add(state["done"])
        left.add(state["left"])
        if state["state"] != "running":
            break
    assert len(seen) >= 10, f"the bar moved {len(seen)} times"
    assert len(left) >= 3, left
    console.until("document.getElementById('state').textContent === 'completed'")
    _, found = console.answer("GET", f"jobs/{job}")
    totals = found["totals"]
    assert totals["targets"] == devices == totals["accepted"] + sum(totals["failed"].values()) + totals["expired"] + totals["cancelled"], totals
    console.until(f"{DONE} === {devices}")
    assert console.value("document.title") != "owned" and console.value("document.querySelectorAll('#main img').length") == 0
    console.shows(HOSTILE)


def failed_devices(console, job):
    """As many lines as counted."""
    _, found = console.answer("GET", f"jobs/{job}")
    failed = sum(found["totals"]["failed"].values())
    console.browser.run("const real = URL.createObjectURL; URL.createObjectURL = blob => { window.saved = blob; return real(blob); };")
    console.press("Download as NDJSON")
    console.until("window.saved !== undefined")
    lines = console.value("(await window.saved.text()).split('\\n').filter(Boolean)")
    assert len(lines) == failed and all(json.loads(line)["outcome"] for line in lines), (len(lines), failed)
    if failed:
        console.shows("UNREGISTERED")


def pauses(console, environment):
    """A paused queue says who and since when, a send says that it waits, and it goes on."""
    console.go("queues")
    console.press("Pause deliver.fcm")
    assert "wait" in console.dialog()
    console.press("Pause it", "#dialog")
    console.notice("deliver.fcm is paused")
    console.shows("by account:boss")
    job = environment["send"]({"to": {"tag": "few"}, "body": "waits", "label": "waiting"})
    console.go(f"sends/{job}")
    console.shows("paused")
    console.go("")
    console.shows("deliver.fcm is paused")
    console.go("queues")
    console.press("Resume deliver.fcm")
    console.notice("deliver.fcm is resumed")
    console.go(f"sends/{job}")
    console.until("document.getElementById('state').textContent === 'completed'")


def list_stays(console, environment):
    """Filters, focus and choice outlive a reload, and what is new moves no row."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
    for number in range(3):
        environment["send"]({"to": {"tag": "few"}, "body": "later", "label": "planned", "at": at})
    console.go("sends?label=planned")
    console.until("document.querySelectorAll('#main tbody tr[data-key]').length === 3")
    first = console.rows()
    console.key("j")
    console.key("j")
    assert console.value("document.activeElement.closest('tr').dataset.key") == first[1]
    console.key("x")
    console.shows("Cancel 1 chosen send")
    console.browser.run("location.reload();")
    console.until("document.documentElement.dataset.ready === 'yes' && document.querySelectorAll('#main tbody tr[data-key]').length === 3")
    console.until(f"document.activeElement?.closest('tr')?.dataset.key === {json.dumps(first[1])}")
    assert console.value("document.querySelector('#main tbody tr.is-at input').checked") and "label=planned" in console.value("location.hash")
    environment["send"]({"to": {"tag": "few"}, "body": "later", "label": "planned", "at": at})
    console.shows("1 new: show")
    assert console.rows() == first, "a new send moved the rows"
    console.press("1 new: show")
    console.until("document.querySelectorAll('#main tbody tr[data-key]').length === 4")
    console.press("Cancel all that match …")
    assert "Cancel 4 sends?" in console.dialog()
    console.press("Cancel 4 sends", "#dialog")
    console.notice("4 sends cancelled")
    console.until("[...document.querySelectorAll('#main tbody .chip')].every(chip => chip.textContent === 'cancelled')")
    console.go("sends?label=nobody-has-this")
    console.shows("No send matches")


def people(console):
    """A key is shown once; one's own account asks twice, and the last operator stays."""
    console.go("people")
    console.press("Make a key")
    console.enter_into("Name", "backend-1", "#dialog")
    console.press("Make it", "#dialog")
    console.shows("plk_")
    secret = console.text("#made pre")
    console.start("#/people")
    console.shows("backend-1")
    assert secret not in console.text("body")
    console.press("Revoke backend-1")
    console.press("Revoke it", "#dialog")
    console.notice("The key backend-1 is revoked")


def watches(console):
    """A viewer sees everything, and has no buttons that do something."""
    console.sign_in("watch")
    console.go("queues")
    console.shows("deliver.fcm")
    assert not console.has("Pause deliver.fcm")
    assert console.answer("POST", "queues/send/pause")[0] == 403
    console.go("people")
    console.shows("boss")
    assert not console.has("Add an account")
    console.sign_in("boss")


def recovers(console, environment):
    """The API is killed while a page is open: it says so, keeps what it knew, and goes on by itself."""
    console.go("")
    console.shows("deliver.fcm")
    with killed(environment, "api"):
        console.until("!document.getElementById('connection').hidden")
        assert "deliver.fcm" in console.text(), "what was known is gone"
    console.until("document.getElementById('connection').hidden")
