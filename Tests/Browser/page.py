"""The app's page as a test uses it, in either browser."""

import json
import time


class Page:
    def __init__(self, browser, url, user, password, app="default"):
        self.browser = browser
        self.app = app
        self.api = "../api/" if app == "default" else f"../../api/apps/{app}/"
        self.url = url
        self.user = user
        self.password = password

    def open(self):
        self.browser.open(self.url)
        self.until("document.documentElement.dataset.ready === 'yes'")

    def until(self, condition, *arguments):
        """Waits two minutes for a state of the page. Each look has five seconds: a browser may never answer one."""
        end = time.monotonic() + 120
        while not self.browser.run(
            "const end = Date.now() + 5000;"
            "const late = new Promise(resolve => setTimeout(resolve, 5000, false));"
            "while (Date.now() < end) {"
            "    if (await Promise.race([(async () => (%s))(), late])) return true;"
            "    await new Promise(resolve => setTimeout(resolve, 20));"
            "}"
            "return false;" % condition, *arguments
        ):
            assert time.monotonic() < end, f"never true: {condition}"

    def value(self, expression, *arguments):
        return self.browser.run(f"return {expression};", *arguments)

    def click(self, identifier):
        self.until(f"!document.getElementById({json.dumps(identifier)}).disabled")
        # As with the keyboard: what is pressed has the focus.
        self.browser.run("const button = document.getElementById(arguments[0]); button.focus(); button.click();", identifier)

    def fill(self, identifier, text):
        self.browser.run("document.getElementById(arguments[0]).value = arguments[1]", identifier, text)

    def is_disabled(self, identifier):
        return self.value("document.getElementById(arguments[0]).disabled", identifier)

    def focus(self):
        return self.value("document.activeElement?.id")

    def subscribe(self):
        self.click("subscribe")
        self.until("!document.getElementById('log-in').disabled || document.getElementById('device-state').textContent.includes(':')"
                   " && !document.getElementById('device-choices').hidden")
        assert not self.is_disabled("log-in"), self.value("document.getElementById('device-state').textContent")

    def enter(self, password):
        lines = self.lines("results")
        self.fill("user", self.user)
        self.fill("password", password)
        self.click("log-in")
        self.until("!document.getElementById('log-out').hidden || document.getElementById('results').children.length > arguments[0]", len(lines))
        return self.value("!document.getElementById('log-out').hidden")

    def sign_in(self):
        assert self.enter(self.password), self.lines("results")
        assert not self.is_disabled("send")

    def choose(self, *services):
        self.browser.run(
            "for (const input of document.querySelectorAll('#services input'))"
            " if (input.checked !== arguments[0].includes(input.value)) input.click();", list(services),
        )

    def send(self, recipient, text, *services):
        """Sends, and waits until each call has its line with its job."""
        before = len(self.jobs())
        self.choose(*services)
        self.fill("recipient", recipient)
        self.fill("text", text)
        self.click("send")
        self.until("document.querySelectorAll('#results [data-job]').length >= arguments[0]", before + len(services))
        # The button is back, and the keyboard with it.
        self.until("!document.getElementById('send').disabled && document.activeElement?.id === 'send'")
        return self.jobs()[before:]

    def jobs(self):
        return [line["job"] for line in self.entries() if line["job"]]

    def entries(self):
        return self.value("[...document.querySelectorAll('#results li')].map(line =>"
                          " ({ text: line.textContent, job: line.dataset.job ?? null, final: line.dataset.final ?? null }))")

    def lines(self, name):
        return self.value("[...document.getElementById(arguments[0]).children].map(line => line.firstChild.textContent)", name)

    def ended(self, job):
        self.until("document.querySelector('#results [data-job=\"' + arguments[0] + '\"]')?.dataset.final", job)
        return self.entry(job)

    def entry(self, job):
        return next(line for line in self.entries() if line["job"] == job)

    def received(self, count):
        self.until("document.getElementById('received').children.length >= arguments[0]", count)
        return self.lines("received")

    def identifier(self):
        """The registration's id."""
        return self.value("localStorage.getItem('pushline.id.' + arguments[0])", self.app)

    def endpoint(self):
        return self.value("(await (await navigator.serviceWorker.getRegistration()).pushManager.getSubscription()).endpoint")

    def call(self, method, path, body=None):
        """A call as the page makes it: with the session's cookie alone."""
        return self.browser.run(
            "const answer = await fetch(new URL(arguments[1], location.href), { method: arguments[0],"
            " body: arguments[2] ?? undefined, headers: arguments[2] ? { 'Content-Type': 'application/json' } : {} });"
            "return { status: answer.status, text: await answer.text() };", method, self.api + path, body,
        )
