"""The devices of a run: who they are, and the file that they are imported from."""

import hashlib
import json

from receiver import traced_token

# How many devices, and the tags by which they are sent to.
APNS_DEVICES = 1_000_000
SMALL_DEVICES = 100_000
FCM_DEVICES = 200_000
TRACED_DEVICES = 2_000
EVERYONE, SMALL, ANDROID = "everyone", "hundred-thousand", "android"


def apns_token(number):
    return hashlib.sha256(b"apns %d" % number).hexdigest()


def apns_paths(devices):
    """The requests' paths of a send to all at APNs."""
    return (f"/3/device/{apns_token(number)}" for number in range(devices))


def fcm_token(number):
    digest = hashlib.sha256(b"fcm %d" % number).hexdigest()
    # As long as real ones.
    return f"{digest[:22]}:APA91b{digest * 2}"[:152].ljust(152, "x")


def user(number):
    return f"user{number:07d}"


def traced_user(number):
    return f"traced{number:05d}"


def _devices(scale):
    """(pns, handle, user, tags) of each; in the order of their handles, so that users come in none."""
    apns = sorted((apns_token(number), user(number)) for number in range(int(APNS_DEVICES * scale)))
    for place, (handle, owner) in enumerate(apns):
        tags = [EVERYONE, SMALL] if place < int(SMALL_DEVICES * scale) else [EVERYONE]
        yield "apns", handle, owner, tags
    fcm = sorted((fcm_token(number), f"android{number:07d}") for number in range(int(FCM_DEVICES * scale)))
    for handle, owner in fcm:
        yield "fcm", handle, owner, [ANDROID]
    for number in range(TRACED_DEVICES):
        yield "apns", traced_token(number), traced_user(number), []


def write(file, scale):
    """Writes the file for `pushline registrations import`; returns how many lines it has."""
    lines = 0
    with open(file, "w", encoding="ascii") as out:
        for pns, handle, owner, tags in _devices(scale):
            out.write(json.dumps({"pns": pns, "handle": handle, "user": owner, "tags": tags}) + "\n")
            lines += 1
    return lines
