"""What is sent in measurements."""

import json

import registrations

MESSAGE = {"title": "Benchmark", "body": "One message for every device, about as long as people write them."}


def small_send(number):
    """A line of many sends: a message of its own for a user with one device."""
    message = {"to": {"user": registrations.user(number)}, "title": "Benchmark", "body": f"Message number {number}."}
    return json.dumps(message) + "\n"
