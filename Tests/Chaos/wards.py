"""Devices that a backend registers on behalf of its users; what each must read back as in the end."""

import json
import random
import time

from devices import apns_token, fcm_token

IDS = 12
USERS = 6
# Set by each PUT; patches remove some of them, and never set one again: patches that overlap are done in any order.
OLD_TAGS = ("old-1", "old-2", "old-3", "old-4")


class Wards:
    """The devices of one backend, each changed by one request after the other."""

    def __init__(self, load, number):
        self.load = load
        self.name = f"ward{number}"
        self.users = [f"{self.name}-user{user}" for user in range(USERS)]
        # id -> the last acknowledged change: what is registered, or the state that the registration ended in.
        self.expected = {}
        # Ids of which nobody knows whether the last change was made: it had no answer until the end.
        self.unsettled = set()
        # id -> every (service, handle) that it had.
        self.devices = {}
        self.generation = 0
        self.changes = 0

    def run(self):
        chance = random.Random(f"{self.load.options.seed} {self.name}")
        client = self.load.client(self.load.installation.sender_key)
        while self.load.is_running:
            self._change(client, chance)
            time.sleep(chance.uniform(0, 2 * self.load.options.pace))
        client.close()

    # ---- Changes ----

    def _change(self, client, chance):
        registration = f"{self.name}-{chance.randrange(IDS)}"
        if registration in self.unsettled:
            return
        self.generation += 1
        throw = chance.random()
        if not isinstance(self.expected.get(registration), dict) or throw < 0.35:
            self._put(client, chance, registration)
        elif throw < 0.8:
            self._patch(client, chance, registration)
        else:
            self._delete(client, registration)

    def _put(self, client, chance, registration):
        before = self.expected.get(registration)
        pns, handle = self._device(chance, before)
        wanted = {"service": pns, "handle": handle, "user": chance.choice(self.users), "tags": {f"v{self.generation}", *OLD_TAGS}}
        self.devices.setdefault(registration, set()).add((pns, handle))
        losers = [other for other, device in self.expected.items() if other != registration and _has(device, pns, handle)]
        body = {**wanted, "tags": sorted(wanted["tags"])}
        if self._ask(client, "PUT", registration, body, 200, wanted, losers):
            for loser in losers:
                self.expected[loser] = "replaced"

    def _device(self, chance, before):
        """The device's own handle, as an app says it anew; or another one; or that of another registration."""
        throw = chance.random()
        if isinstance(before, dict) and throw < 0.5:
            return before["service"], before["handle"]
        live = [device for _, device in sorted(self.expected.items()) if isinstance(device, dict)]
        if live and throw < 0.6:
            device = chance.choice(live)
            return device["service"], device["handle"]
        make = {"apns": apns_token, "fcm": fcm_token}
        pns = chance.choice(sorted(make))
        return pns, make[pns](self.name, self.generation)

    def _patch(self, client, chance, registration):
        before = self.expected[registration]
        add, remove = f"p{self.generation}", chance.sample(OLD_TAGS, chance.randrange(3))
        wanted = {**before, "tags": before["tags"] - set(remove) | {add}}
        self._ask(client, "PATCH", registration, {"tags": {"add": [add], "remove": remove}}, 200, wanted)

    def _delete(self, client, registration):
        self._ask(client, "DELETE", registration, None, 204, "deleted")

    def _ask(self, client, method, registration, body, status, wanted, others=()):
        """Makes a change; whether it was acknowledged. What was written is read at once: the answer shows it."""
        self.unsettled.update([registration, *others])
        text = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if text else None
        path = f"/api/registrations/{registration}"
        answer = self.load.insist(client, method, path, text, headers, may_be_late=True)
        if answer is None:
            return False
        self.unsettled.difference_update([registration, *others])
        if answer[0] != status:
            self.load.violate(f"{method} {path} was answered {answer[0]}: {answer[1][:200]!r}")
            return False
        self.expected[registration] = wanted
        self.changes += 1
        if status == 200 and (fault := difference(wanted, json.loads(answer[1]))):
            self.load.violate(f"{method} {path} was answered with {fault}")
        return True

    # ---- The end ----

    def read_back(self, client):
        """What is otherwise than the last acknowledged change of each registration says: lost changes, and devices that are doubled."""
        lost, doubled = [], []
        for registration, wanted in sorted(self.expected.items()):
            if registration in self.unsettled:
                continue
            answer = self.load.insist(client, "GET", f"/api/registrations/{registration}", None, None)
            if answer is None or answer[0] != 200:
                lost.append(f"{registration} is answered {answer and answer[0]}, though it was registered")
            elif fault := difference(wanted, json.loads(answer[1])):
                lost.append(f"{registration} reads back with {fault}")
        for user in self.users:
            path = f"/api/registrations?user={user}&state=live&limit=1000"
            answer = self.load.insist(client, "GET", path, None, None)
            if answer is None or answer[0] != 200:
                lost.append(f"the devices of {user} cannot be read: {answer and answer[0]}")
                continue
            known = {item for item, wanted in self.expected.items() if isinstance(wanted, dict) and wanted["user"] == user}
            listed = [item["id"] for item in json.loads(answer[1])["items"]]
            more = sorted(item for item in set(listed) - known - self.unsettled)
            doubled += [f"{user} has {item}, which nobody registered so" for item in more]
            lost += [f"{user} lacks {item}" for item in sorted(known - set(listed) - self.unsettled)]
            if len(set(listed)) < len(listed):
                doubled.append(f"{user} has a device twice in {listed}")
        return lost, doubled


def _has(device, pns, handle):
    return isinstance(device, dict) and (device["service"], device["handle"]) == (pns, handle)


def difference(wanted, item):
    """What a registration has otherwise than it is to be; None where it has nothing so."""
    state = wanted if isinstance(wanted, str) else "live"
    if item["state"] != state:
        return f"the state {item['state']} where it is to be {state}"
    if state != "live":
        return None
    if (item.get("service"), item.get("user")) != (wanted["service"], wanted["user"]):
        return f"{item.get('service')} of {item.get('user')} where it is to be {wanted['service']} of {wanted['user']}"
    # Handles are shown shortened.
    begin, _, end = item.get("handle", "").partition("…")
    if not begin or not end or not wanted["handle"].startswith(begin) or not wanted["handle"].endswith(end):
        return f"the handle {item.get('handle')}"
    tags = wanted["tags"] | {f"username:{wanted['user']}"}
    return None if set(item["tags"]) == tags else f"the tags {sorted(item['tags'])} where they are to be {sorted(tags)}"
