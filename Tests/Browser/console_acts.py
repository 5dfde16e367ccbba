"""What an operator asks in the night: what is lost if this is cancelled, who did it, whose device is this, how is all of it stopped. Each waits for
states of the page alone."""

import json
import time

TITLE = "Doors open at seven"


def tomorrow():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))


def scheduled(console, environment):
    """A scheduled send says when it starts, to whom it goes and how many that are today; a cancelled one, who did it."""
    job = environment["send"]({"to": {"tag": "few"}, "title": TITLE, "body": "x", "at": tomorrow()})
    _, found = console.answer("POST", "sends/count", json.dumps({"to": {"tag": "few"}}))
    count = f"{found['total']} devices today"
    console.go(f"sends/{job}")
    console.shows("Starts on ")
    console.shows(count)
    console.shows("until it starts")
    console.until("document.querySelector('#main h1').textContent === arguments[0]", TITLE)
    console.press("Cancel …")
    words = console.dialog()
    assert f"Cancel “{TITLE}”?" in words and f"the devices with the tag few: {count}." in words and "It starts on " in words, words
    assert "About" not in words, words
    console.press("Cancel the send", "#dialog")
    console.shows("Cancelled by boss on ")
    # With all that match, as nobody's but its own.
    jobs = [environment["send"]({"to": {"tag": "few"}, "body": "x", "label": label, "at": tomorrow()}) for label in ("one-by-one", "together", "together")]
    status, found = console.answer("POST", "jobs/cancel", json.dumps({"label": "together", "upTo": jobs[2]}))
    assert status == 200 and found["cancelled"] == 2, found
    assert console.answer("DELETE", f"jobs/{jobs[0]}")[0] in (200, 202, 204)
    console.go(f"sends/{jobs[1]}")
    console.shows("with all that matched (label together)")
    console.go(f"sends/{jobs[0]}")
    console.shows("Cancelled by boss on ")
    assert "all that matched" not in console.text()
    return jobs[1]


def audited(console):
    """Every act above has its row, and leads to what it was done to; a bare name is enough, and what is no choice is not asked for."""
    console.go("audit")
    for action, words in (("queue.pause", "paused a queue"), ("queue.resume", "resumed a queue"), ("key.add", "made a key"), ("key.revoke", "revoked a key"),
                          ("job.cancel", "cancelled sends")):
        console.enter_into("Action", action)
        console.until("[...document.querySelectorAll('#main tbody tr[data-key]')].every(row => row.innerText.includes(arguments[0])) && "
                      "[...document.querySelectorAll('#main tbody tr[data-key]')].some(row => row.innerText.includes('done'))", words)
    console.enter_into("Who", "boss")
    console.until("location.hash.includes('by=boss')")
    console.press("all that matched: label together")
    console.until("location.hash === '#/sends?label=together'")
    console.go("audit?action=job.cancel&by=boss")
    console.press("one-by-one")
    console.until("location.hash.startsWith('#/sends/')")
    console.shows("Cancelled by boss on ")
    console.go("audit?action=no.such.thing&by=nobody")
    console.shows("No act matches")
    assert "400" not in console.text() and "must" not in console.text()
    console.enter_into("Who", "x" * 290)
    console.until(f"location.hash.includes('{'x' * 290}')")
    console.shows("No act matches")
    assert "400" not in console.text()


def finds(console, environment):
    """One field takes whatever somebody has of a device; a token is in no address, and what it finds is."""
    console.go("audience")
    console.enter_into("Which", "crowd && !few")
    console.until("document.getElementById('counted').textContent.includes('device')")
    console.enter_into("Token", environment["handle"])
    console.press("Find")
    console.shows("The device with this token")
    console.shows("1 device", "#found")
    assert environment["handle"] not in console.text("#found")
    console.until("new URLSearchParams(location.hash.split('?')[1]).get('id') === document.querySelector('#found tr[data-key]').dataset.key")
    assert environment["handle"] not in console.value("location.href")
    asked = console.value("performance.getEntriesByType('resource').map(entry => entry.name).filter(name => name.includes(arguments[0]))", environment["handle"])
    assert asked == [], asked
    found = console.rows()
    console.browser.run("location.reload();")
    console.until("document.documentElement.dataset.ready === 'yes' && document.querySelectorAll('#found tr[data-key]').length === 1")
    assert console.rows() == found, "another one is found after a reload"
    console.shows(f"The device {found[0]}", "#found")
    # Somebody's devices, with their number and what can be done.
    lines = "\n".join(json.dumps({"service": "fcm", "handle": f"finds-{number}:APA91b{'x' * 60}", "user": "finn"}) for number in range(3))
    assert environment["call"]("POST", "/api/registrations/import", lines, "application/x-ndjson")["created"] == 3
    console.enter_into("Token", "finn")
    console.press("Find")
    console.shows("3 devices", "#found")
    console.until("location.hash.includes('user=finn') && location.hash.includes('which=crowd')")
    assert console.has("Remove finn and everything of theirs …", "#found") and console.has("Sent by finn", "#found")
    console.enter_into("Token", "nobody-has-this")
    console.press("Find")
    console.shows("Nothing found", "#found")
    assert not console.value("[...document.querySelectorAll('#found button')].length"), "there is something to remove"
    assert "user=" not in console.value("location.hash")
    console.go("audience?tag=few")
    console.until("document.querySelectorAll('#found tr[data-key]').length > 10")
    console.shows("devices", "#found")


def pauses_all(console, environment):
    """All sends of the app are paused by one button, which says what that means, and resumed by it."""
    console.go("app")
    console.press("Pause all sends …")
    assert "No device gets anything from this app" in console.dialog()
    console.press("Pause all sends", "#dialog")
    console.notice("All sends of this app are paused")
    console.shows("All sends of this app are paused, by boss since ")
    queues = {queue["name"]: queue["paused"] for queue in console.answer("GET", "queues")[1]["items"]}
    assert not queues.pop("register") and queues["send"] and all(queues.values()), queues
    assert console.answer("POST", "queues/deliver.fcm/resume")[0] == 200
    console.shows(f"{len(queues) - 1} of {len(queues)} queues of sends are paused")
    assert console.has("Pause all sends …")
    assert console.answer("POST", "queues/deliver.fcm/pause")[0] == 200
    console.press("Resume all sends")
    console.notice("The sends of this app are resumed")
    console.until("!document.getElementById('main').innerText.includes('are paused')")
    assert not any(queue["paused"] for queue in console.answer("GET", "queues")[1]["items"])
    console.sign_in("watch")
    console.go("app")
    console.shows("Credentials")
    console.until("document.querySelector('#main tbody tr[data-key]') !== null")
    assert not console.has("Pause all sends …")
    console.sign_in("boss")
