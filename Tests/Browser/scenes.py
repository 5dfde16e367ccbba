"""What must hold of the page, scene by scene: one browser's user sends, the other's receives, and then the other way round."""

import json
import os
import signal
import time
import urllib.error
import urllib.request

from page import Page

HOSTILE = "<img src=x onerror=\"document.title='taken'\"> ünï 通知 😀"
ENDED = "The session has ended. Log in again."


def ends(seconds, what):
    """Each turn of a loop, until the loop is left; what fails where it is not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
    raise AssertionError(f"{what} within {seconds} s")


def backend(environment, body):
    """A send of the app's backend."""
    headers = {"Authorization": f"Bearer {environment['PUSHLINE_SENDER_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(environment["PUSHLINE_API"] + "/api/sends", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert "warnings" not in json.load(answer)


def totals(page, job):
    return json.loads(page.call("GET", f"jobs/{job}")["text"])["totals"]


def rules(page):
    """Nobody is signed in yet; Log in is for who has a device's token or goes on without, Send for who is signed in."""
    def is_locked():
        return page.is_disabled("log-in") and page.is_disabled("send") and page.is_disabled("picture")

    assert is_locked()
    page.click("without")
    assert page.focus() == "user", page.focus()
    assert not page.is_disabled("log-in") and page.is_disabled("send") and page.is_disabled("picture")
    page.open()
    assert is_locked()
    page.browser.allow_notifications(page.url)
    page.subscribe()
    assert page.focus() == "user", page.focus()
    assert page.browser.push.is_connected.wait(60), (
        "the browser does not listen to its push service; Chromium does so only where the machine has a network besides the loopback")
    assert not page.is_disabled("log-in") and page.is_disabled("send") and page.is_disabled("picture")
    # No dialog: the page itself says it, and goes on.
    assert not page.enter("wrong")
    assert "401" in page.lines("results")[0] and page.is_disabled("send")


def signs_in(page):
    # The subscription outlives a reload.
    page.open()
    page.sign_in()
    assert page.focus() == "recipient", page.focus()
    assert not page.is_disabled("picture")


def sends(receiver, sender, text):
    earlier, count = len(sender.jobs()), len(receiver.lines("received"))
    sender.browser.run("performance.clearResourceTimings()")
    jobs = sender.send(receiver.user, text, "wns", "gcm", "apns", "web")
    calls = sender.value("performance.getEntriesByType('resource').map(entry => new URL(entry.name))"
                         ".filter(url => url.pathname === '/api/notifications').map(url => url.searchParams.get('pns'))")
    assert calls == ["wns", "gcm", "apns", "web"] and len(set(jobs)) == 4, "one call for each switch"
    for job in jobs:
        sender.ended(job)
    text = f"From {sender.user}: {text}"
    assert receiver.received(count + 1)[count:] == [text], "the browser decrypted it"
    receiver.until("(await (await navigator.serviceWorker.ready).getNotifications()).some(({ body }) => body === arguments[0])", text)
    assert receiver.value("document.querySelectorAll('#received img').length") == 0
    assert receiver.value("document.title") == "Pushline"
    counts = totals(sender, jobs[3])
    assert (counts["targets"], counts["accepted"]) == (1, 1), counts
    assert len(sender.jobs()) == earlier + 4, "results are appended"


def picture(receiver, sender):
    count = len(receiver.lines("received"))
    receiver.click("picture")
    receiver.received(count + 1)
    receiver.browser.run("document.querySelector('#received button').click()")
    receiver.until("document.getElementById('viewer').open && document.getElementById('viewer-picture').naturalWidth > 0")
    number = receiver.value("document.getElementById('viewer-picture').alt.match(/\\d+/)[0]")
    assert receiver.call("GET", f"notifications/{number}")["status"] == 200
    assert sender.call("GET", f"notifications/{number}")["status"] == 404


def composed(receiver, environment):
    """A backend's message is shown as it asks for; a picture of another host is not fetched (`same_origin`)."""
    count = len(receiver.lines("received"))
    backend(environment, {
        "to": {"user": receiver.user}, "services": ["web"], "title": "Sale", "body": "begins <b>now</b>", "link": "https://example.com/sale",
        "image": "https://example.com/sale.png", "actions": [{"id": "see", "title": "See it"}], "web": {"tag": "sale", "silent": True},
    })
    assert receiver.received(count + 1)[count:] == ["Sale: begins <b>now</b>"]
    receiver.until("(await (await navigator.serviceWorker.ready).getNotifications({ tag: 'sale' }))"
                   ".some(({ title, body, silent, data }) => title === 'Sale' && body === 'begins <b>now</b>' && silent && !data.link)")
    backend(environment, {"to": {"user": receiver.user}, "services": ["web"], "data": {"score": "2:1"}})
    assert receiver.received(count + 2)[count + 1:] == ['{"score":"2:1"}']
    # The worker asks the API in its user's name: no address of it that a push names, however it is written.
    sly = {"title": "Sly", "tag": "sly", "icon": "/api/jobs", "image": "/app/..%2fAPI/jobs", "data": {"link": "/%61pi/notifications/1"}}
    backend(environment, {"to": {"user": receiver.user}, "services": ["web"], "native": {"web": {"payload": sly}}})
    receiver.received(count + 3)
    receiver.until("(await (await navigator.serviceWorker.ready).getNotifications({ tag: 'sly' }))"
                   ".some(({ icon, image, data }) => icon.endsWith('/icon-192.png') && !image && !data.link)")
    odd = {"title": {"toString": 0}}
    backend(environment, {"to": {"user": receiver.user}, "services": ["web"], "native": {"web": {"payload": odd}}})
    assert receiver.received(count + 4)[count + 3:] == [json.dumps(odd, separators=(",", ":"))]


def opened(page):
    """As after a click on a notification's "More" while no page was open."""
    number = page.value("document.getElementById('viewer-picture').alt.match(/\\d+/)[0]")
    closes(page)
    page.browser.open("about:blank")
    page.browser.open(f"{page.url}#notification={number}")
    page.until("document.documentElement.dataset.ready === 'yes' && document.getElementById('viewer').open"
               " && document.getElementById('viewer-picture').naturalWidth > 0")


def other_app(page, user, password):
    """Another app's page lies below the default app's: a worker, a subscription and a registration of its own."""
    browser, first = page.browser, page.browser.tab()
    endpoint = page.endpoint()
    tab = browser.new_tab()
    other = Page(browser, page.url + "shop/", user, password, app="shop")
    other.open()
    other.sign_in()
    assert other.endpoint() != endpoint and other.identifier() is not None
    other.send(user, "in the shop", "web")
    assert other.received(1) == [f"From {user}: in the shop"]
    browser.switch(first)
    assert page.endpoint() == endpoint
    count = len(page.lines("received"))
    page.send(page.user, "at home", "web")
    assert page.received(count + 1)[count:] == [f"From {page.user}: at home"]
    browser.switch(tab)
    assert len(other.lines("received")) == 1
    # Its rich notifications are secure: the push has the number alone, and the worker fetches the text with the session of its addressee.
    text = f"for {user} alone"
    body = json.dumps({"secure": True, "platforms": ["web"], "message": text})
    assert other.call("POST", "notifications", body)["status"] == 200
    assert other.received(2)[1:] == [text], other.lines("received")
    other.click("log-out")
    is_left(other)
    browser.close_tab()
    browser.switch(first)


def closes(page):
    page.browser.run("document.getElementById('viewer').close()")


def starts_over(receiver, sender):
    former = receiver.identifier()
    assert receiver.call("DELETE", f"register/{former}")["status"] == 200
    receiver.open()
    assert receiver.identifier() not in (None, former)
    answers = receiver.value("performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/register/' + arguments[0]))"
                             ".map(({ responseStatus }) => responseStatus)", former)
    assert answers == [410], answers
    assert not receiver.is_disabled("send"), "the session outlives a reload"
    count = len(receiver.lines("received"))
    sender.send(receiver.user, "to the new registration", "web")
    assert receiver.received(count + 1)[count:] == [f"From {sender.user}: to the new registration"]


def recovers(receiver, sender, environment):
    receiver.browser.push.gate.clear()
    [job] = sender.send(receiver.user, "over the restart", "web")
    assert not sender.entry(job)["final"], "the job waits for the push service"
    with open(environment["folder"] + "/run/api.pid") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    for _ in ends(60, "the API was not started again"):
        try:
            urllib.request.urlopen(environment["PUSHLINE_API"] + "/healthz", timeout=10).close()
            break
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    receiver.browser.push.gate.set()
    # The page's time alone: it begins when the API answers again, for how long its start takes is another matter.
    start = time.monotonic()
    sender.ended(job)
    seconds = time.monotonic() - start
    assert seconds < 5, f"the page took {seconds:.1f} s from when the API answered again"
    counts = totals(sender, job)
    assert (counts["targets"], counts["accepted"]) == (1, 1), counts


def crowd(receiver, sender):
    """Three tabs follow two jobs each: the browser's six connections to the host are not all theirs."""
    browser, gate = sender.browser, receiver.browser.push.gate
    gate.clear()
    tabs = {}
    for number in range(3):
        tab = browser.tab() if number == 0 else browser.new_tab()
        if number > 0:
            sender.open()
        tabs[tab] = [job for _ in range(2) for job in sender.send(receiver.user, f"from tab {number}", "web")]
    held = "(await navigator.locks.query()).held.filter(lock => lock.name.startsWith('pushline.stream.')).length"
    sender.until(f"{held} === 2")
    assert sender.call("GET", "session")["status"] == 200
    gate.set()
    for number, (tab, jobs) in enumerate(tabs.items()):
        browser.switch(tab)
        for job in jobs:
            sender.ended(job)
        if number > 0:
            browser.close_tab()
    browser.switch(next(iter(tabs)))


def expires(page):
    """A session that ends by itself takes what its user saw with it, in every tab."""
    first = page.browser.tab()
    other = page.browser.new_tab()
    page.open()
    assert page.call("DELETE", "session")["status"] == 204
    page.fill("recipient", page.user)
    page.fill("text", "too late")
    page.click("send")
    page.until("!document.getElementById('sign-in').hidden")
    assert page.lines("results") == [ENDED], page.lines("results")
    page.browser.close_tab()
    page.browser.switch(first)
    assert first != other and page.lines("received") != []
    page.click("picture")
    page.until("!document.getElementById('sign-in').hidden")
    assert (page.lines("results"), page.lines("received")) == ([ENDED], [])
    assert page.value("document.getElementById('text').value") == "" and page.is_disabled("send")
    page.sign_in()


def renewed(receiver, sender):
    """The browser has given up the subscription: the page that is open registers the next one."""
    former = receiver.endpoint()
    receiver.browser.run("await (await (await navigator.serviceWorker.ready).pushManager.getSubscription()).unsubscribe();")
    receiver.browser.subscription_changed(receiver.url)
    receiver.until("(await (await navigator.serviceWorker.ready).pushManager.getSubscription()) !== null"
                   " && !document.getElementById('send').disabled")
    assert receiver.endpoint() != former
    count = len(receiver.lines("received"))
    sender.send(receiver.user, "to the new address", "web")
    receiver.received(count + 1)


def pruned(receiver, sender):
    """Sends to the receiver's user until there is no device left."""
    for _ in ends(60, "the device that is gone was not removed"):
        [job] = sender.send(receiver.user, "nobody there", "web")
        sender.ended(job)
        counts = totals(sender, job)
        assert counts["accepted"] == 0, counts
        if counts["targets"] == 0:
            return


def gone(receiver, sender):
    receiver.browser.push.forget(receiver.endpoint())
    pruned(receiver, sender)


def leaves(receiver, sender):
    """What one user has written and read is not the next one's, in no tab, and nothing comes any more."""
    first = receiver.browser.tab()
    other = receiver.browser.new_tab()
    receiver.open()
    receiver.browser.switch(first)
    receiver.fill("text", "a draft")
    receiver.click("log-out")
    is_left(receiver)
    assert receiver.lines("results") == [] and receiver.identifier() is None
    receiver.browser.switch(other)
    receiver.until("!document.getElementById('sign-in').hidden && document.getElementById('results').children.length === 1")
    assert receiver.lines("results") == [ENDED]
    receiver.browser.close_tab()
    receiver.browser.switch(first)
    [job] = sender.send(receiver.user, "nobody is here", "web")
    sender.ended(job)
    assert totals(sender, job)["targets"] == 0
    receiver.sign_in()


def leaves_without_server(receiver, sender):
    """The registration cannot be removed just then: the session ends, and the browser takes nothing more at the address."""
    receiver.browser.run(
        "const real = window.fetch; window.fetch = (url, request) => request?.method === 'DELETE' && url.includes('/register/')"
        " ? Promise.reject(new TypeError('cut')) : real(url, request);")
    receiver.click("log-out")
    is_left(receiver)
    assert receiver.lines("results") == ["failed: cut"], receiver.lines("results")
    assert receiver.value("await (await navigator.serviceWorker.ready).pushManager.getSubscription()") is None
    pruned(receiver, sender)
    receiver.open()
    receiver.until("!document.getElementById('log-in').disabled")
    receiver.sign_in()


def is_left(page):
    page.until("document.getElementById('log-out').hidden && document.activeElement?.id === 'user'")
    assert page.lines("received") == []
    for field in ("user", "password", "recipient", "text"):
        assert page.value("document.getElementById(arguments[0]).value", field) == "", field
    assert page.is_disabled("send")
    assert page.call("GET", "session")["status"] == 401
