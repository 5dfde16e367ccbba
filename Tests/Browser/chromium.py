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

    def __init__(self, folder):
        self.log = open(f"{folder}.log", "w")
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if "started successfully on port" in line:
                break
        else:
            raise AssertionError(f"chromedriver ended as soon as it was started: see {self.log.name}")
        self.url = f"http://127.0.0.1:{line.split()[-1].rstrip('.')}/session"
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--lang=en-US", f"--user-data-dir={folder}"],
            "prefs": {"intl.accept_languages": "en-US"},
        }
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}, "unhandledPromptBehavior": "ignore"}
        session = self.call("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self.url += "/" + session["sessionId"]
        self.call("POST", "/timeouts", {"script": 60_000, "pageLoad": 60_000})

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"chromedriver: {error.read().decode()[:1000]}") from None

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Runs the body of an asynchronous function in the page; what it returns."""
        value = self.call("POST", "/execute/async", {"script": WRAP % script, "args": list(arguments)})
        assert "error" not in value, value["error"]
        return value.get("value")

    def look(self, scheme, width):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def screenshot(self):
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)
        return shot["data"]

    def problems(self, url):
        """What the console says of the addresses that begin so, since it was last asked: errors and warnings."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING") and url in entry["message"]]

    def close(self):
        self.call("DELETE", "")
        self.process.terminate()
        self.process.wait()
