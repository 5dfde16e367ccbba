"""The devices of a run: who they are, and how they come into the store."""

import contextlib
import hashlib
import sqlite3
import time

from receiver import traced_token

# How many devices, and the tags by which they are sent to.
APNS_DEVICES = 1_000_000
SMALL_DEVICES = 100_000
FCM_DEVICES = 200_000
TRACED_DEVICES = 2_000
EVERYONE, SMALL, ANDROID = "everyone", "hundred-thousand", "android"


def apns_token(number):
    return hashlib.sha256(b"apns %d" % number).hexdigest()


def fcm_token(number):
    digest = hashlib.sha256(b"fcm %d" % number).hexdigest()
    # As long as real ones.
    return f"{digest[:22]}:APA91b{digest * 2}"[:152].ljust(152, "x")


def user(number):
    return f"user{number:07d}"


def traced_user(number):
    return f"traced{number:05d}"


def all_devices(scale=1.0):
    """(user, pns, handle, tags) of each device."""
    for number in range(int(APNS_DEVICES * scale)):
        tags = [EVERYONE, SMALL] if number < int(SMALL_DEVICES * scale) else [EVERYONE]
        yield user(number), 1, apns_token(number), tags
    for number in range(int(FCM_DEVICES * scale)):
        yield f"android{number:07d}", 2, fcm_token(number), [ANDROID]
    for number in range(TRACED_DEVICES):
        yield traced_user(number), 1, traced_token(number), []


def fill(store, devices):
    """Writes devices straight into the tables: each with its user's tag and its own, as a registration would."""
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as database:
        database.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN IMMEDIATE;")
        (app,) = database.execute("SELECT number FROM app WHERE name = 'default'").fetchone()
        tags = {}
        now = int(time.time() * 1000)
        row, next_tag = 0, 1

        def number(name):
            nonlocal next_tag
            if name not in tags:
                tags[name] = next_tag
                next_tag += 1
            return tags[name]

        registrations, links = [], []
        for owner, pns, handle, names in devices:
            row += 1
            registrations.append((row, app, f"bench-{row}", pns, handle, owner, now))
            links += [(number(name), pns, row) for name in [*names, f"username:{owner}"]]
            if len(registrations) == 10_000:
                _insert(database, registrations, links)
        _insert(database, registrations, links)
        rows = [(number, app, name) for name, number in tags.items()]
        database.executemany("INSERT INTO tag(number, app, name) VALUES (?, ?, ?)", rows)
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _insert(database, registrations, links):
    database.executemany(
        "INSERT INTO registration(row, app, id, pns, handle, user, state, version, updated) "
        "VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?)",
        registrations,
    )
    database.executemany("INSERT INTO registration_tag(tag, pns, row) VALUES (?, ?, ?)", links)
    registrations.clear()
    links.clear()
