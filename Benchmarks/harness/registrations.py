"""The devices of a run: who they are, and the file that they are imported from."""

import base64
import hashlib
import json

from receiver import traced_token

# The push services of the devices.
SERVICES = ("apns", "fcm", "web")
# How many devices, and the tags by which they are sent to.
APNS_DEVICES = 1_000_000
SMALL_DEVICES = 100_000
FCM_DEVICES = 200_000
WEB_DEVICES = 100_000
TRACED_DEVICES = 2_000
EVERYONE, SMALL, ANDROID, BROWSERS = "everyone", "hundred-thousand", "android", "browsers"
# The public key and the secret of all browsers, those of RFC 8291: nobody reads the messages.
BROWSER_KEY = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
BROWSER_SECRET = "BTBZMqHH6r4Tts7J_aSIgg"


def apns_token(number):
    return hashlib.sha256(b"apns %d" % number).hexdigest()


def apns_paths(devices):
    """The requests' paths of a send to all at APNs."""
    return (f"/3/device/{apns_token(number)}" for number in range(devices))


def fcm_token(number):
    digest = hashlib.sha256(b"fcm %d" % number).hexdigest()
    # As long as real ones.
    return f"{digest[:22]}:APA91b{digest * 2}"[:152].ljust(152, "x")


def browser(number, origin):
    """A subscription; its endpoint is as long as those of Google's service."""
    digest = hashlib.sha256(b"web %d" % number).hexdigest()
    endpoint = f"{origin}/web/{digest[:11]}:APA91b{digest * 2}"[:188]
    subscription = {"endpoint": endpoint, "p256dh": BROWSER_KEY, "auth": BROWSER_SECRET}
    return base64.urlsafe_b64encode(json.dumps(subscription).encode()).decode().rstrip("=")


def user(number):
    return f"user{number:07d}"


def traced_user(number):
    return f"traced{number:05d}"


def _devices(scale, origin):
    """(pns, handle, user, tags) of each; in the order of their handles, so that users come in none."""
    apns = sorted((apns_token(number), user(number)) for number in range(int(APNS_DEVICES * scale)))
    for place, (handle, owner) in enumerate(apns):
        tags = [EVERYONE, SMALL] if place < int(SMALL_DEVICES * scale) else [EVERYONE]
        yield "apns", handle, owner, tags
    fcm = sorted((fcm_token(number), f"android{number:07d}") for number in range(int(FCM_DEVICES * scale)))
    for handle, owner in fcm:
        yield "fcm", handle, owner, [ANDROID]
    for number in range(int(WEB_DEVICES * scale)):
        yield "web", browser(number, origin), f"browser{number:07d}", [BROWSERS]
    for number in range(TRACED_DEVICES):
        yield "apns", traced_token(number), traced_user(number), []


def write(file, scale, origin, services=SERVICES):
    """Writes the file for `pushline registrations import`; returns how many lines it has. `origin`: of the browsers' push service."""
    lines = 0
    with open(file, "w", encoding="ascii") as out:
        for pns, handle, owner, tags in _devices(scale, origin):
            if pns not in services:
                continue
            out.write(json.dumps({"service": pns, "handle": handle, "user": owner, "tags": tags}) + "\n")
            lines += 1
    return lines
