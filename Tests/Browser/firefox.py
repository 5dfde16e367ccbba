"""Drives Firefox by Marionette, its own protocol: Debian has no geckodriver."""

import json
import os
import socket
import subprocess

PREFERENCES = {
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:9/",
    "dom.push.testing.allowInsecureServerURL": True,
    "alerts.useSystemBackend": False,
    "intl.accept_languages": "en-US",
    # They would switch the connection to the push service off.
    "remote.prefs.recommended": False,
}


class Firefox:
    name = "firefox"

    def __init__(self, folder, push):
        os.makedirs(folder)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        preferences = {**PREFERENCES, "dom.push.serverURL": push.websocket, "marionette.port": port}
        with open(f"{folder}/user.js", "w") as file:
            for name, value in preferences.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.push = push
        self.log = open(f"{folder}.log", "w")
        command = ["firefox-esr", "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", folder, "about:blank"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env={**os.environ, "HOME": folder})
        self.number = 0
        self.connection = self.connect(port)
        self.read()
        self.call("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"unhandledPromptBehavior": "ignore"}}})
        self.call("WebDriver:SetTimeouts", {"script": 120_000, "pageLoad": 120_000})
        self.privileged(WATCH)

    def connect(self, port):
        while self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=180).makefile("rwb")
            except ConnectionRefusedError:
                try:
                    self.process.wait(0.1)
                except subprocess.TimeoutExpired:
                    pass
        raise AssertionError(f"Firefox ended as soon as it was started: see {self.log.name}")

    def read(self):
        length = b""
        while (byte := self.connection.read(1)) != b":":
            assert byte, "Firefox closed the connection"
            length += byte
        return json.loads(self.connection.read(int(length)))

    def call(self, name, parameters):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters]).encode()
        self.connection.write(str(len(text)).encode() + b":" + text)
        self.connection.flush()
        _, number, error, result = self.read()
        assert number == self.number
        assert error is None, f"{name}: {error}"
        return result["value"] if result and "value" in result else result

    def open(self, url):
        self.call("WebDriver:Navigate", {"url": url})

    def tab(self):
        return self.call("WebDriver:GetWindowHandle", {})

    def new_tab(self):
        """Opens a tab and is in it."""
        tab = self.call("WebDriver:NewWindow", {"type": "tab"})["handle"]
        self.switch(tab)
        return tab

    def switch(self, tab):
        self.call("WebDriver:SwitchToWindow", {"handle": tab})

    def close_tab(self):
        self.call("WebDriver:CloseWindow", {})

    def run(self, script, *arguments):
        """Runs the body of an asynchronous function in the page; what it returns."""
        body = "const done = arguments[arguments.length - 1];" + WRAP % script
        value = self.call("WebDriver:ExecuteAsyncScript", {"script": body, "args": list(arguments), "sandbox": None})
        assert "error" not in value, value["error"]
        return value.get("value")

    def privileged(self, script, *arguments):
        self.call("Marionette:SetContext", {"value": "chrome"})
        try:
            return self.call("WebDriver:ExecuteScript", {"script": script, "args": list(arguments)})
        finally:
            self.call("Marionette:SetContext", {"value": "content"})

    def allow_notifications(self, url):
        self.privileged(
            "Services.perms.addFromPrincipal(Services.scriptSecurityManager.createContentPrincipalFromOrigin(arguments[0]),"
            " 'desktop-notification', Services.perms.ALLOW_ACTION)", url,
        )

    def subscription_changed(self, url):
        """As when the browser has given up the subscription, of whose scope the address is."""
        self.privileged(
            "Cc['@mozilla.org/push/Notifier;1'].getService(Ci.nsIPushNotifier).notifySubscriptionChange("
            "arguments[0], Services.scriptSecurityManager.createContentPrincipalFromOrigin(arguments[0]), null);", url,
        )

    def look(self, scheme, width):
        self.privileged(
            "Services.prefs.setIntPref('layout.css.prefers-color-scheme.content-override', arguments[0]);"
            "const box = gBrowser.selectedBrowser; box.style.width = box.style.minWidth = box.style.maxWidth = arguments[1] + 'px';",
            0 if scheme == "dark" else 1, width,
        )

    def screenshot(self, is_whole=True):
        """A picture of the whole page, or of what is seen of it."""
        return self.call("WebDriver:TakeScreenshot", {"full": is_whole, "hash": False})

    def problems(self, url):
        """What the console says of the addresses that begin so: errors and warnings."""
        return self.privileged("return window.pushlineProblems.filter(([from]) => from.startsWith(arguments[0])).map(([, text]) => text)", url)

    def requests(self, origin):
        """The addresses that pages and workers of an origin have asked for."""
        return self.privileged("return window.pushlineRequests.filter(([from]) => from === arguments[0]).map(([, url]) => url)", origin)

    def close(self):
        self.process.terminate()
        self.process.wait()


# The origin of each of the browser's requests; and the console's messages, of which the browser itself keeps only the last 250.
WATCH = """
window.pushlineProblems = [];
Services.console.registerListener({
  observe(message) {
    if (message instanceof Ci.nsIScriptError) window.pushlineProblems.push([message.sourceName || "", message.errorMessage]);
  },
});
window.pushlineRequests = [];
Services.obs.addObserver({
  observe(subject) {
    const { loadInfo, URI } = subject.QueryInterface(Ci.nsIHttpChannel);
    window.pushlineRequests.push([loadInfo.triggeringPrincipal.origin, URI.spec]);
  },
}, "http-on-modify-request");
"""

WRAP = """
(async () => { %s })().then(value => done({ value }), error => done({ error: String(error) }));
"""
