"""What Schemathesis must be told: of a media type that it does not know, of today, of native payloads, of browsers, and of who asks."""

import base64
import json
import re
from datetime import datetime, timedelta, timezone

import requests
import schemathesis

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
# The handle of a browser as the document has it, and one whose key is on the curve: that of RFC 8291, appendix A.
BROWSER = re.compile(r"eyJ[A-Za-z0-9_-]+")
SUBSCRIPTION = json.dumps(
    {
        "endpoint": "https://fcm.googleapis.com/fcm/send/fuzz",
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    },
    separators=(",", ":"),
)
# The users and keys that deploy/fuzz asks as.
CALLERS = re.compile(r"alice|dora|quickstart-.*", re.IGNORECASE)


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """A value is a line of JSON; a text stands for itself."""
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


@schemathesis.deserializer("application/x-ndjson")
def first_line(context, response):
    """Where the document has the schema of a line, the first line stands for all; otherwise the lines are a text."""
    text = response.content.decode()
    return json.loads(text.split("\n", 1)[0]) if context.operation.path.endswith("/sends/batch") else text


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes of a request what a schema cannot say, and nothing that ends the run's own account or key."""
    body = case.body
    if isinstance(body, dict):
        body = with_browsers(with_credential(with_moment(body)))
        native = body.get("native")
        if isinstance(native, dict):
            body = {**body, "native": {**native, **with_aps(native.get("apns")), **with_xml(native.get("wns"))}}
        case.body = body
    for name in ("name", "user"):
        value = case.path_parameters.get(name)
        if isinstance(value, str) and CALLERS.fullmatch(value):
            case.path_parameters[name] = "nobody"


@schemathesis.hook
def after_call(context, case, response):
    """A queue that was paused goes on: all that follows would wait for it."""
    if case.operation.path.endswith("/pause") and response.status_code == 200:
        url = response.request.url.removesuffix("/pause") + "/resume"
        requests.post(url, headers={"Authorization": response.request.headers["Authorization"]}, timeout=30)


def with_moment(body):
    """What may stand in `at` depends on the day: any moment becomes one of tomorrow."""
    if not isinstance(body.get("at"), str) or not MOMENT.fullmatch(body["at"]):
        return body
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    return {**body, "at": tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ")}


def with_browsers(value):
    """A handle of a browser is a subscription with a key on the curve: any that looks like one becomes that."""
    if isinstance(value, list):
        return [with_browsers(each) for each in value]
    if not isinstance(value, dict):
        return value
    value = {name: with_browsers(each) for name, each in value.items()}
    for service, handle in (("pns", "handle"), ("Platform", "Handle")):
        text = value.get(handle)
        is_browser = isinstance(value.get(service), str) and value[service].lower() == "web"
        if is_browser and isinstance(text, str) and BROWSER.fullmatch(text):
            value[handle] = base64.urlsafe_b64encode(SUBSCRIPTION.encode()).decode().rstrip("=")
    return value


def with_credential(value):
    """The quickstart's app has no further credentials: any name becomes that of the default one."""
    if isinstance(value, list):
        return [with_credential(member) for member in value]
    if not isinstance(value, dict):
        return value
    return {
        name: "default" if name.lower() == "credential" and is_credential(member) else with_credential(member)
        for name, member in value.items()
    }


def is_credential(value):
    return isinstance(value, str) and re.fullmatch("[a-z0-9][a-z0-9-]{0,39}", value) is not None


def with_aps(form):
    """A payload of APNs has `aps`, any topic becomes the app's, and any priority the one that all push types have."""
    if not isinstance(form, dict):
        return {}
    payload, headers = form.get("payload"), form.get("headers")
    if isinstance(payload, dict) and payload and not isinstance(payload.get("aps"), dict):
        form = {**form, "payload": {**payload, "aps": {}}}
    if isinstance(headers, dict):
        headers = {name: value for name, value in headers.items() if name != "apns-topic" or not is_visible(value)}
        if headers.get("apns-priority") in ("10", "1"):
            headers["apns-priority"] = "5"
        form = {**form, "headers": headers}
    return {"apns": form}


def is_visible(value):
    return isinstance(value, str) and re.fullmatch("[!-~]([ -~]*[!-~])?", value) is not None


def with_xml(form):
    """A body of WNS is well-formed XML with the root that its type says, unless it is raw: any text becomes that."""
    if not isinstance(form, dict) or not isinstance(form.get("body"), str) or not form["body"]:
        return {}
    headers = form.get("headers")
    kind = headers.get("X-WNS-Type", "wns/toast") if isinstance(headers, dict) else "wns/toast"
    if kind not in ("wns/toast", "wns/tile", "wns/badge"):
        return {}
    return {"wns": {**form, "body": f"<{kind.removeprefix('wns/')}/>"}}
