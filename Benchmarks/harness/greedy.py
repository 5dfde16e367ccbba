"""Asks for all that an app may, at the limits of each right, until SIGTERM: as a user, with a sender's key, with a hub's rule, as an operator.

It reads what it needs as JSON from standard input, writes a line when each of its requests was answered once, and at SIGTERM another: how
often each was answered, as JSON.
"""

import base64
import collections
import http.client
import json
import signal
import ssl
import sys
import threading
import time

APP = "greedy"
ACCENT = "\u0301"
# As many tags as an expression names; every device has all of them, so nobody is meant, and all of it must be read to know.
EXPRESSION = "".join(f"(t{number % 50}||t{(number + 1) % 50})&&" for number in range(999)) + "t2&&!t3"
TEMPLATE = "{" + ".(a,1)+" * 1900 + "'x'}"


def token(number):
    return f"{number:064x}"


class Greedy:
    def __init__(self, settings):
        self.settings = settings
        self.answers = collections.Counter()
        self.end = threading.Event()
        self.tls = ssl.create_default_context(cafile=settings["authority"])
        self.hub_headers = {"Authorization": settings["hub_token"], "Content-Type": "application/json;charset=utf-8"}

    def run(self):
        for number in range(3):
            self._register_template(number)
        requests = {**self._of_user(), **self._of_sender(), **self._of_rule(), **self._of_operator()}
        for name, request in requests.items():
            threading.Thread(target=self._repeat, args=(name, request), daemon=True).start()
        while len(self.answers) < len(requests) and not self.end.wait(0.05):
            pass
        print("under way", flush=True)
        self.end.wait()
        print(json.dumps(self.answers), flush=True)

    def _repeat(self, name, request):
        while not self.end.is_set():
            try:
                request()
                self.answers[name] += 1
            except (OSError, http.client.HTTPException):
                # A connection that was closed: the next request opens another.
                self.answers[f"{name}, broken off"] += 1

    # ---- What each right asks for ----

    def _of_user(self):
        login = base64.b64encode(f"{self.settings['user']}:{self.settings['password']}".encode()).decode()
        authorization = f"Basic {login}"
        many = json.dumps({"to": {"users": [f"u{number}" for number in range(20_000)]}, "body": "x"})
        unknown = json.dumps({"a" + ACCENT * 1_000_000: 0}, ensure_ascii=False)
        data = {f"m{number}": "" for number in range(200_000)}
        preview = json.dumps({"to": {"user": "u"}, "body": "x", "data": data})
        return {
            "user, 20,000 users": lambda: self._api(authorization, "POST", "sends", many),
            "user, accents": lambda: self._api(authorization, "POST", "sends", unknown),
            "user, members": lambda: self._api(authorization, "POST", "sends/preview", preview),
        }

    def _of_sender(self):
        authorization = f"Bearer {self.settings['sender']}"
        send = json.dumps({"to": {"tags": EXPRESSION}, "body": "x"})
        larger = json.dumps({"to": {"tags": "(a||b)&&" * 100_000 + "c"}, "body": "x"})
        return {
            "sender, an expression": lambda: self._api(authorization, "POST", "sends", send),
            "sender, its count": lambda: self._api(authorization, "POST", "sends/count", send),
            "sender, a larger one": lambda: self._api(authorization, "POST", "sends", larger),
        }

    def _of_rule(self):
        properties = json.dumps({"a": "x" + ACCENT * 29_000 + "y"}, ensure_ascii=False)
        payload = json.dumps({"aps": {"alert": "x"}})
        expression = "(t0||t1)&&" * 700 + "t2&&!t3"
        handles = json.dumps([token(number) for number in range(1000, 2000)])
        batch = (
            f"--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{payload}\r\n"
            f"--b\r\nContent-Disposition: inline; name=devices\r\n\r\n{handles}\r\n--b--\r\n"
        )
        apple = {"ServiceBusNotification-Format": "apple"}
        return {
            "rule, templates": lambda: self._settle(
                self._hub("POST", "/messages", properties, {"ServiceBusNotification-Format": "template"})
            ),
            "rule, an expression": lambda: self._settle(
                self._hub("POST", "/messages", payload, {**apple, "ServiceBusNotification-Tags": expression})
            ),
            "rule, a batch": lambda: self._settle(
                self._hub(
                    "POST", "/messages/$batch", batch, {**apple, "Content-Type": "multipart/mixed; boundary=b"}, "&direct"
                )
            ),
        }

    def _of_operator(self):
        authorization = f"Bearer {self.settings['operator']}"
        lines = "".join(
            json.dumps({"service": "apns", "handle": token(number), "tags": [f"t{tag}" for tag in range(50)]}) + "\n"
            for number in range(2000)
        )
        to_all = json.dumps({"to": {"all": True}, "body": "x"})
        return {
            "operator, an import": lambda: self._api(
                authorization, "POST", "registrations/import", lines, "application/x-ndjson"
            ),
            "operator, an export": lambda: self._api(authorization, "GET", "registrations/export"),
            "operator, a send to all": lambda: self._settle(self._api(authorization, "POST", "sends", to_all)),
        }

    # ---- Requests ----

    def _register_template(self, number):
        body = json.dumps({"aps": {"alert": TEMPLATE, "n": number}})
        installation = {
            "platform": "apns",
            "pushChannel": token(1_000_000 + number),
            "templates": {"t": {"body": body}},
        }
        answer = self._hub("PUT", f"/installations/greedy{number}", json.dumps(installation), {})
        if answer.status != 200:
            sys.exit(f"a template was answered {answer.status}")

    def _settle(self, answer):
        """Waits for the end of a send: an app that has more under way than its windows take waits for itself."""
        job = (answer.headers["Location"] or "").split("?")[0].rpartition("/")[2]
        authorization = f"Bearer {self.settings['operator']}"
        while job and not self.end.is_set():
            answer = self._api(authorization, "GET", f"jobs/{job}")
            if answer.status != 200 or json.loads(answer.body)["isFinal"]:
                return
            time.sleep(0.02)

    def _api(self, authorization, method, path, body=None, media_type="application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", self.settings["port"], timeout=120)
        headers = {"Authorization": authorization}
        if body is not None:
            headers["Content-Type"] = media_type
        return self._answer(connection, method, f"/api/apps/{APP}/{path}", body, headers)

    def _hub(self, method, path, body, headers, query=""):
        connection = http.client.HTTPSConnection(self.settings["hub"], timeout=120, context=self.tls)
        path = f"/{APP}{path}?api-version=2020-06{query}"
        return self._answer(connection, method, path, body, {**self.hub_headers, **headers})

    @staticmethod
    def _answer(connection, method, path, body, headers):
        try:
            connection.request(method, path, body.encode() if body else None, headers)
            response = connection.getresponse()
            response.body = response.read()
            return response
        finally:
            connection.close()


def main():
    greedy = Greedy(json.load(sys.stdin))
    signal.signal(signal.SIGTERM, lambda *_: greedy.end.set())
    greedy.run()


main()
