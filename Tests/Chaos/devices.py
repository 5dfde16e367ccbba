"""Who has which devices, and what their handles are."""

import hashlib
import json

STATIC_USERS = 400
CHURNING_USERS = 60


def user_name(number):
    return f"user{number:04d}"


def churning_name(number):
    return f"moving{number:04d}"


def apns_token(owner, generation=0):
    return hashlib.sha256(f"apns {owner} {generation}".encode()).hexdigest()


def fcm_token(owner, generation=0):
    digest = hashlib.sha256(f"fcm {owner} {generation}".encode()).hexdigest()
    return f"{digest[:22]}:APA91b{digest * 2}"[:152].ljust(152, "x")


class Devices:
    """Who has which devices; those of the static users never change."""

    def __init__(self, channel):
        self.channel = channel
        self.static = {user_name(number): self._of(user_name(number), number) for number in range(STATIC_USERS)}
        self.churning = {churning_name(number): self._of(churning_name(number), number) for number in range(CHURNING_USERS)}

    def _of(self, owner, number, generation=0):
        tags = ["everyone", f"group-{number % 7}"]
        devices = [("apns", apns_token(owner, generation), tags)]
        if number % 2 == 0:
            devices.append(("fcm", fcm_token(owner, generation), tags))
        if number % 4 == 0:
            devices.append(("wns", self.channel + hashlib.sha256(f"{owner} {generation}".encode()).hexdigest()[:40], tags))
        return devices

    def lines(self, users):
        for owner, devices in users.items():
            for pns, handle, tags in devices:
                yield json.dumps({"service": pns, "handle": handle, "user": owner, "tags": tags}) + "\n"
