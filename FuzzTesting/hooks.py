"""What Schemathesis must be told: of a media type that it does not know, of today, of native payloads, of browsers, of cursors, and of who asks."""

import base64
import json
import re
from datetime import datetime, timedelta, timezone

import requests
import schemathesis
from schemathesis.engine import observations

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
# A cursor as the document has it: the server seals those that it gives, and refuses any other.
CURSOR = re.compile(r"[A-Za-z0-9_-]{32}")
# The users and keys that deploy/fuzz asks as.
CALLERS = re.compile(r"alice|dora|quickstart-.*", re.IGNORECASE)


def path_of(value, origin, original=observations._same_origin_path):
    """Schemathesis looks for addresses in answers, and ends at a text such as `http://[`."""
    try:
        return original(value, origin)
    except ValueError:
        return None


observations._same_origin_path = path_of


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
        body = without_services(with_text(with_browsers(with_credential(with_moments(body)))))
        native = body.get("native")
        if isinstance(native, dict):
            body = {**body, "native": {**native, **without_topic(native.get("apns")), **with_xml(native.get("wns"))}}
            body["native"].update(without_priority(native.get("fcm")))
        case.body = body
    if is_credential((case.query or {}).get("credential")):
        case.query["credential"] = "default"
    cursor = (case.query or {}).get("cursor")
    if isinstance(cursor, str) and CURSOR.fullmatch(cursor):
        del case.query["cursor"]
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


def with_moments(body):
    """What may stand in `at` depends on the day, and Apple counts from 1970: any moment becomes one of tomorrow."""
    body = with_moment(body, "at")
    activity = body.get("liveActivity")
    if isinstance(activity, dict):
        for name in ("timestamp", "staleDate", "dismissalDate"):
            activity = with_moment(activity, name)
        body = {**body, "liveActivity": activity}
    return body


def with_moment(value, name):
    if not isinstance(value.get(name), str) or not MOMENT.fullmatch(value[name]):
        return value
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    return {**value, name: tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ")}


def without_services(body):
    """Forms alone, and a badge or raw text of WNS alone, go where they are for: that `services` names no other service, the document says in
    words, for readers of schemas give up."""
    shown = ("title", "body", "titleLocKey", "bodyLocKey", "badge")
    is_message = any(body.get(name) is not None for name in shown) or body.get("data")
    own = body.get("wns")
    is_whole = isinstance(own, dict) and any(own.get(name) is not None for name in ("badge", "raw"))
    is_known = is_whole or isinstance(body.get("native"), dict)
    if is_message or not is_known or not isinstance(body.get("services"), list):
        return body
    return {name: value for name, value in body.items() if name != "services"}


def with_text(body):
    """Which services a send goes to, the app decides as well: texts of the app's, and a priority of a silent message, are not for each."""
    keys = [body.get(name) for name in ("titleLocKey", "bodyLocKey")]
    own = body.get("apns")
    has_priority = isinstance(own, dict) and own.get("priority") in (10, 1)
    has_key = any(isinstance(key, str) and 0 < len(key) <= 200 for key in keys)
    if body.get("title") is not None or body.get("body") is not None or not (has_key or has_priority):
        return body
    if has_priority and not has_key and not isinstance(body.get("data"), dict) and body.get("badge") is None:
        return body
    return {**body, "body": "a text"}


def with_browsers(value):
    """A handle of a browser is a subscription with a key on the curve: any that looks like one becomes that."""
    if isinstance(value, list):
        return [with_browsers(each) for each in value]
    if not isinstance(value, dict):
        return value
    value = {name: with_browsers(each) for name, each in value.items()}
    for service, handle in (("service", "handle"), ("Platform", "Handle")):
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


def without_topic(form):
    """A topic is the app's, and can be left out."""
    if not isinstance(form, dict) or not isinstance(form.get("headers"), dict):
        return {}
    headers = {name: value for name, value in form["headers"].items() if name != "apns-topic" or not is_visible(value)}
    return {"apns": {**form, "headers": headers}}


def without_priority(form):
    """At Apple a message that shows nothing has no high priority: which one shows nothing, the document says in words."""
    message = form.get("message") if isinstance(form, dict) else None
    apns = message.get("apns") if isinstance(message, dict) else None
    if not isinstance(apns, dict) or not isinstance(apns.get("headers"), dict):
        return {}
    headers = {name: value for name, value in apns["headers"].items() if value != "10"}
    return {"fcm": {**form, "message": {**message, "apns": {**apns, "headers": headers}}}}


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
