"""The console as a test uses it: what it reads and presses is what a user sees."""

import json

from page import Page

PAGES = ["", "sends", "queues", "dead", "compose", "audience", "app", "people", "audit"]


class Console(Page):
    """A tab with the console; `link` makes a link that signs in once, for a name."""

    def __init__(self, browser, url, link):
        super().__init__(browser, url, None, None)
        self.link = link

    def start(self, fragment=""):
        """Opens the console as a new page: a fragment alone would only move within it."""
        self.browser.open("about:blank")
        self.browser.open(self.url + fragment)
        self.until("document.documentElement.dataset.ready === 'yes'")

    def sign_in(self, name):
        self.start("#link=" + self.link(name))
        self.until("document.querySelector('#nav a') !== null")

    def go(self, place):
        """Opens a page of it, and waits until it has its title, and something below it."""
        self.browser.run("location.hash = arguments[0];", f"#/{place}")
        self.until("document.querySelector('#main h1') !== null && document.getElementById('main').children.length > 1")

    def text(self, selector="#main"):
        return self.value("document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def shows(self, text, selector="#main"):
        self.until(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(text)})")

    def press(self, words, within="#main"):
        """Presses the button or link that says so, or whose label does, as soon as it can be pressed."""
        self.until(FIND + "(arguments[0], arguments[1])", words, within)
        self.browser.run(f"const button = {FIND}(arguments[0], arguments[1]); button.focus(); button.click();", words, within)

    def has(self, words, within="#main"):
        return self.value(f"{FIND}(arguments[0], arguments[1]) !== undefined", words, within)

    def enter_into(self, label, text, within="#main"):
        """Types into the field of that label."""
        self.until(FIELD + "(arguments[0], arguments[1]) !== undefined", label, within)
        self.browser.run(
            f"const field = {FIELD}(arguments[0], arguments[1]); field.focus(); field.value = arguments[2];"
            "for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, { bubbles: true }));", label, within, text)

    def rows(self):
        return self.value("[...document.querySelectorAll('#main tbody tr[data-key]')].map(row => row.dataset.key)")

    def key(self, key):
        self.browser.run("(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], bubbles: true }));", key)

    def notice(self, text):
        self.shows(text, "#notice")

    def answer(self, method, path, body=None):
        """A call as the page makes it: with the session's cookie alone."""
        answer = self.call(method, path, body)
        return answer["status"], json.loads(answer["text"]) if answer["text"] else None

    def dialog(self):
        """The words of the dialog that is open."""
        self.until("document.getElementById('dialog').open")
        return self.text("#dialog")


FIND = ("((words, within) => [...document.querySelectorAll(`${within} button, ${within} a`)].find(element => !element.disabled"
        " && element.getClientRects().length > 0 && [element.innerText.trim(), element.getAttribute('aria-label')].includes(words)))")

FIELD = ("((words, within) => [...document.querySelectorAll(`${within} label`)].filter(label => label.getClientRects().length > 0"
         " && label.firstChild?.textContent.startsWith(words)).map(label => label.control)[0])")
