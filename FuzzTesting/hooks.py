"""What Schemathesis must be told: of a media type that it does not know, of today, of XML, and of what not to saw off."""

import json
import re
from datetime import datetime, timedelta, timezone

import requests
import schemathesis

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
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
        body = with_moment(body)
        body = with_xml(body)
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


def with_xml(body):
    """A body of WNS is well-formed XML with the root that its type says, unless it is raw: any text becomes that."""
    native = body.get("native")
    form = native.get("wns") if isinstance(native, dict) else None
    if not isinstance(form, dict) or not isinstance(form.get("body"), str) or not form["body"]:
        return body
    headers = form.get("headers")
    kind = headers.get("X-WNS-Type", "wns/toast") if isinstance(headers, dict) else "wns/toast"
    if kind not in ("wns/toast", "wns/tile", "wns/badge"):
        return body
    root = kind.removeprefix("wns/")
    return {**body, "native": {**native, "wns": {**form, "body": f"<{root}/>"}}}
