"""Drives Chromium by WebDriver (W3C), through Debian's chromedriver."""

import json
import subprocess
import urllib.error
import urllib.request

WRAP = """
const done = arguments[arguments.length - 1];
(async () => { %s })().then(value => done({ value }), error => done({ error: String(error) }));
"""


class Chromium:
    name = "chromium"

    def __init__(self, folder, push, key_hash):
        """`push` is its push service, whose certificate it takes by the SHA-256 of its public key."""
        self.push = push
        self.network_log = f"{folder}-network.json"
        self.log = open(f"{folder}.log", "w")
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if "started successfully on port" in line:
                break
        else:
            raise AssertionError(f"chromedriver ended as soon as it was started: see {self.log.name}")
        self.url = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}/session"
        options = {
            "args": [
                "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--lang=en-US", f"--user-data-dir={folder}", "--hide-scrollbars",
                *push.switches, f"--ignore-certificate-errors-spki-list={key_hash}", f"--log-net-log={self.network_log}",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
            # It would keep the browser from its push service, and from others too: those are not found.
            "excludeSwitches": ["disable-background-networking"],
            "prefs": {"intl.accept_languages": "en-US"},
        }
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}, "unhandledPromptBehavior": "ignore"}
        session = self.call("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self.url += "/" + session["sessionId"]
        self.call("POST", "/timeouts", {"script": 120_000, "pageLoad": 120_000})

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"chromedriver: {error.read().decode()[:1000]}") from None

    def cookies(self):
        return self.call("GET", "/cookie")

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def tab(self):
        return self.call("GET", "/window")

    def new_tab(self):
        """Opens a tab and is in it."""
        tab = self.call("POST", "/window/new", {"type": "tab"})["handle"]
        self.switch(tab)
        return tab

    def switch(self, tab):
        self.call("POST", "/window", {"handle": tab})

    def close_tab(self):
        self.call("DELETE", "/window")

    def run(self, script, *arguments):
        """Runs the body of an asynchronous function in the page; what it returns."""
        value = self.call("POST", "/execute/async", {"script": WRAP % script, "args": list(arguments)})
        assert "error" not in value, value["error"]
        return value.get("value")

    def allow_notifications(self, url):
        self.devtools("Browser.grantPermissions", permissions=["notifications"], origin=url.rsplit("/app/", 1)[0])

    def look(self, scheme, width):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def screenshot(self, is_whole=True):
        """A picture of the whole page, or of what is seen of it."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=is_whole)
        return shot["data"]

    def problems(self, url):
        """What the console says of the addresses that begin so, since it was last asked: errors and warnings."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING") and url in entry["message"]]

    def close(self):
        self.call("DELETE", "")
        self.process.terminate()
        self.process.wait()

    def requests(self, origin):
        """The addresses that pages and workers of an origin have asked for, out of the browser's network log: once it is closed."""
        with open(self.network_log) as file:
            log = json.load(file)
        start = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
        begun = [event["params"] for event in log["events"] if event["type"] == start and "params" in event]
        return [request["url"] for request in begun if request.get("initiator") == origin]
