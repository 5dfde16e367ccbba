"""Payloads in the services' own words, Live Activities among them, and what of them a service must have received."""

import json
import re
import time

# What only survives where nobody changes it: quotes, letters of other scripts, line breaks, numbers.
TEXTS = ("plain", 'with "quotes" and \\', "Grüße, 你好 🎈", "two\nlines", "<b>&amp;</b>")


def forms(marker, chance, services):
    """A form for each of the services, each with the marker that the witness looks for."""
    made = {"apns": _apns, "fcm": _fcm, "wns": _wns}
    return {pns: made[pns](marker, chance) for pns in services}


def _extra(chance):
    return {"text": chance.choice(TEXTS), "number": chance.randrange(10**6), "list": [None, True, {"half": 0.5}]}


def _apns(marker, chance):
    if chance.random() < 0.3:
        payload = {"aps": {"content-available": 1}, "title": marker, "extra": _extra(chance)}
        return {"payload": payload, "headers": {"apns-push-type": "background", "apns-priority": "5"}}
    payload = {"aps": {"alert": {"title": marker, "body": "native"}, "badge": 7}, "extra": _extra(chance)}
    return {"payload": payload, "headers": {"apns-collapse-id": f"native {marker}", "apns-expiration": "2000000000"}}


def activity(marker, chance, event, is_urgent):
    """The member `liveActivity` of a send, and the form in which it must reach APNs."""
    moment = chance.randrange(1_900_000_000, 2_000_000_000)
    state = {"title": marker, "extra": _extra(chance)}
    aps = {"timestamp": moment, "event": event, "content-state": state}
    given = {"timestamp": _text(moment), "event": event, "contentState": state}
    if event == "start" or chance.random() < 0.2:
        given["alert"] = aps["alert"] = {"title": marker, "body": "activity"}
    if event == "start":
        given["attributesType"] = aps["attributes-type"] = "Flight"
        given["attributes"] = aps["attributes"] = {"number": chance.randrange(10**6)}
    if event == "end":
        given["dismissalDate"], aps["dismissal-date"] = _text(moment + 60), moment + 60
    else:
        given["staleDate"], aps["stale-date"] = _text(moment + 3600), moment + 3600
    priority = "10" if is_urgent or "alert" in aps else "5"
    return given, {"payload": {"aps": aps}, "headers": {"apns-push-type": "liveactivity", "apns-priority": priority}}


def _text(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _fcm(marker, chance):
    # With all that Pushline would otherwise add.
    android = {"collapse_key": marker, "priority": "NORMAL", "ttl": "600s", "direct_boot_ok": True}
    data = {"text": chance.choice(TEXTS), "number": str(chance.randrange(10**6))}
    return {"message": {"notification": {"title": marker, "body": "native"}, "data": data, "android": android}}


def _wns(marker, chance):
    kind = chance.choice(("toast", "tile", "badge", "raw"))
    if kind == "raw":
        body = json.dumps({"title": marker, "extra": _extra(chance)}, separators=(",", ":"))
    else:
        body = f'<{kind}>\r\n  <text id="1">{marker}</text> <!-- native -->\n</{kind}>'
    return {"body": body, "headers": {"X-WNS-Type": f"wns/{kind}", "X-WNS-Tag": marker}}


def marker_of(body):
    """The marker of a body in whatever form; None where it has none."""
    found = re.search(r'"title":"(c\d+)"|>(c\d+)<', body)
    return found and (found.group(1) or found.group(2))


def difference(pns, form, push):
    """What a push that the service received has otherwise than its form; None where it has nothing so."""
    received = {name.lower(): value for name, value in push["headers"].items()}
    for name, value in form.get("headers", {}).items():
        if received.get(name.lower()) != value:
            return f"{name} is {received.get(name.lower())!r} where {value!r} was given"
    try:
        body = push["body"] if pns == "wns" else json.loads(push["body"])
        if pns == "fcm":
            body = {name: value for name, value in body["message"].items() if name != "token"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"its body cannot be read ({error!r})"
    given = {"apns": "payload", "fcm": "message", "wns": "body"}[pns]
    return None if body == form[given] else f"its body is {push['body'][:200]!r}"
