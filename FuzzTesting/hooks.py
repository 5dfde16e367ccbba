"""What Schemathesis must be told: of a media type that it does not know, and of today."""

import json
import re
from datetime import datetime, timedelta, timezone

import schemathesis

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """A value is a line of JSON; a text stands for itself."""
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


@schemathesis.hook
def before_call(context, case, kwargs):
    """What may stand in `at` depends on the day, which a schema cannot say: any moment becomes one of tomorrow."""
    body = case.body
    if isinstance(body, dict) and isinstance(body.get("at"), str) and MOMENT.fullmatch(body["at"]):
        tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
        case.body = {**body, "at": tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ")}
