"""Acts on much at once: all sends that match, all dead letters of a kind, all apps. Each waits for states of the page alone."""

import concurrent.futures
import os
import sqlite3
import time

import pika

import console_failures as failures

MANY = 120
LETTERS = 500
REASON = "a test's own reason"
ROWS = "document.querySelectorAll('#main tbody tr[data-key]').length"


def tomorrow():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))


def cancels_many(console, environment):
    """What a list shows is not what is cancelled: the dialog names how many match, above 100 they are typed, and those made later stay."""
    def send(number):
        return environment["send"]({"to": {"tag": f"one-of-many-{number}"}, "body": "later", "label": "many", "at": tomorrow()})

    at_once(send, range(MANY))
    console.go("sends?label=many")
    console.until(f"{ROWS} === 50")
    console.key("j")
    console.key("x")
    console.shows("Cancel 1 chosen send")
    shown = console.rows()
    later = {send(MANY + number) for number in range(3)}
    console.shows("3 new: show")
    assert console.rows() == shown, "new sends moved the rows"
    assert console.value("document.querySelector('#main tbody tr.is-at input').checked"), "new sends moved what was chosen"
    console.press("Cancel all that match …")
    verb = f"Cancel {MANY} sends"
    words = console.dialog()
    assert f"{verb}?" in words and "Those made later stay." in words, words
    assert not console.has(verb, "#dialog"), "the number was not typed"
    console.enter_into("Type", str(MANY), "#dialog")
    console.press(verb, "#dialog")
    console.notice(f"{MANY} sends cancelled")
    _, found = console.answer("GET", "jobs?label=many&unfinished=true&limit=1000")
    assert {job["id"] for job in found["items"]} == later, found
    console.go("sends?label=many&state=scheduled")
    console.until(f"{ROWS} === 3")
    console.press("Cancel all that match …")
    console.press("Cancel 3 sends", "#dialog")
    console.notice("3 sends cancelled")


def at_once(work, items):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        return list(threads.map(work, items))


def publish_dead(environment, messages, reason=REASON):
    """Puts messages of sends into the dead queue, as a worker does with what it cannot work on."""
    connection = pika.BlockingConnection(pika.URLParameters(environment["PUSHLINE_BROKER_URL"]))
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        for message in messages:
            headers = {"app": "default", "queue": "pushline.send.normal", "reason": reason}
            properties = pika.BasicProperties(message_id=str(message), type="send", headers=headers, delivery_mode=2)
            channel.basic_publish("", "pushline.dead.v2", b"", properties)
    finally:
        connection.close()


def stored(environment, question, *values):
    store = sqlite3.connect(f"file:{environment['PUSHLINE_STORE_PATH']}?mode=ro", uri=True)
    try:
        return [number for (number,) in store.execute(question, values)]
    finally:
        store.close()


def pauses_sends(console, environment):
    """Pauses the app's sends. It takes effect within two seconds: then the message of what is sent is deferred (its state is 2)."""
    assert console.answer("POST", "queues/send/pause")[0] == 200
    while not stored(environment, "SELECT id FROM message WHERE state = 2"):
        environment["send"]({"to": {"tag": "nobody"}, "body": "held", "label": "held"})


def held_back(environment, count, label):
    """Sends whose queue is paused, and the numbers of the messages that stand for them."""
    at_once(lambda number: environment["send"]({"to": {"tag": f"{label}-{number}"}, "body": "held", "label": label}), range(count))
    return stored(environment, "SELECT message FROM job WHERE label = ?", label)


def counted(count):
    return f"(await (await fetch('../api/dead/groups')).json()).items.reduce((sum, group) => sum + group.count, 0) === {count}"


def replays(console, environment):
    """Hundreds of one reason are replayed by one click. One that comes meanwhile is untouched, one that cannot be replayed stays with its reason."""
    pauses_sends(console, environment)
    messages = held_back(environment, LETTERS + 1, "dead")
    assert len(set(messages)) == LETTERS + 1, len(set(messages))
    publish_dead(environment, messages[:LETTERS])
    publish_dead(environment, ["nobody's"])
    console.until(counted(LETTERS + 1))
    console.go("")
    console.shows("At least 100 dead letters")
    console.go("dead")
    console.shows("1 cannot be replayed")
    failures.follows_a_letter(console, REASON)
    console.shows("1 cannot be replayed")
    # As in a tab that nobody sees, the page asks nothing more: what comes now it does not know.
    console.browser.run("Object.defineProperty(document, 'hidden', { configurable: true, value: true });")
    publish_dead(environment, messages[LETTERS:])
    console.until(counted(LETTERS + 2))
    console.press("Show letters: " + REASON)
    console.shows(f"The newest with “{REASON}”")
    console.press("Replay all letters: " + REASON)
    console.notice(f"{LETTERS} letters replayed; 1 refused, and still here: it names no work")
    console.until(counted(2))
    console.browser.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'));")
    console.press("Replay all letters: " + REASON)
    console.notice("1 letter replayed; 1 refused")
    publish_dead(environment, ["nobody's either"])
    console.until(counted(2))
    console.press("Show letters: " + REASON)
    console.until("document.querySelectorAll('#letters tr[data-key]').length === 2")
    number = console.value("document.querySelector('#letters tr[data-key]').dataset.key")
    console.press(f"Discard letter {number}", "#letters")
    assert f"Discard dead letter {number}?" in console.dialog()
    console.press("Discard it", "#dialog")
    console.notice(f"Letter {number}: discarded.")
    console.until(counted(1))
    console.press("Discard letters: " + REASON)
    assert "Discard 1 dead letter?" in console.dialog()
    console.press("Discard 1 letter", "#dialog")
    console.notice("1 letter discarded")
    console.shows("No dead letters")
    assert console.answer("POST", "queues/send/resume")[0] == 200
    # The work is done once more, and ends.
    console.go("sends?label=dead&state=unfinished")
    console.shows("No send matches")


def pauses_everywhere(console, environment):
    """A pause of all apps is the host's: the page has no button that ends it, and shows the command that does."""
    configuration = ("--config", os.path.join(os.path.dirname(__file__), "../../Config/pushline.yaml"))
    environment["pushline"]("queues", "pause", "deliver.web", "--all-apps", *configuration)
    console.go("queues")
    console.shows("for all apps")
    console.shows("pushline queues resume deliver.web --all-apps")
    assert not console.has("Resume deliver.web"), "an app's operator could end a pause of all apps"
    environment["pushline"]("queues", "resume", "deliver.web", "--all-apps", *configuration)
    console.until("!document.getElementById('main').innerText.includes('for all apps')")


def last_operator(console):
    """One's own account is asked about twice, and whoever is the last that may do something cannot be removed."""
    console.go("people")
    console.press("Revoke quickstart-operator")
    console.press("Revoke it", "#dialog")
    console.notice("The key quickstart-operator is revoked")
    console.press("Remove operator")
    console.press("Remove it", "#dialog")
    console.notice("The account operator is removed")
    console.press("Remove boss")
    console.press("Remove it", "#dialog")
    console.shows("This is your own account", "#dialog")
    assert not console.has("Yes, my own account", "#dialog"), "the name was not typed"
    console.enter_into("Type", "boss", "#dialog")
    console.press("Yes, my own account", "#dialog")
    console.notice("this is the app's last operator")
    console.shows("that is you")
