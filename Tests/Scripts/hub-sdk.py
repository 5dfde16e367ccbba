"""Calls pushline-hub through PyPI's azure-notification-hub-unofficial, unmodified.

    deploy/quickstart --stay                       # in another terminal
    pip install azure-notification-hub-unofficial==0.1.0
    set -a; . .pushline/quickstart.env; SSL_CERT_FILE=$PUSHLINE_CA python3 Tests/Scripts/hub-sdk.py
"""

import datetime
import json
import os
import time
import uuid

from azure_notification_hub import NotificationHubsClient

client = NotificationHubsClient(
    connection_string=os.environ["PUSHLINE_HUB_CONNECTION"], hub_name=os.environ["PUSHLINE_HUB_NAME"]
)
# This SDK drops the header Location, which has the notification's id.
locations = []
client._client.event_hooks = {"response": [lambda response: locations.append(response.headers.get("location"))]}


def identifier():
    return locations[-1].split("?")[0].rsplit("/", 1)[1]


installation = str(uuid.uuid4())
token = uuid.uuid4().hex * 2


def step(name, value):
    print(f"{name}: {value}")


apple = {"platform": "apple", "body": '{"aps":{"alert":"Hello"}}', "contentType": "application/json;charset=utf-8"}
step(
    "put",
    client.create_or_update_installation(
        {"installationId": installation, "platform": "apns", "pushChannel": token, "tags": ["sdk"], "userId": "sdk"}
    ),
)


def installed():
    # The original sends this JSON with the media type of XML, and so do we: this SDK hands it on as a text.
    return json.loads(client.get_installation(installation)["_raw_xml"])


read = installed()
assert read["pushChannel"] == token and read["tags"] == ["sdk"], read
client.update_installation(installation, [{"op": "add", "path": "/tags", "value": "more"}])
assert installed()["tags"] == ["more", "sdk"]
listed = client.list_registrations()
assert any(f"$InstallationId:{{{installation}}}" in str(entry) for entry in listed), listed
client.send_notification(apple, tag_expression=f"$InstallationId:{{{installation}}} && more")
sent = identifier()
step("sent", sent)
for _ in range(50):
    details = client.get_notification_outcome_details(sent)
    if "Completed" in str(details):
        break
    time.sleep(0.1)
step("outcome", details)
assert "Success" in str(details), details
later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
client.schedule_notification(later, apple, tag_expression="sdk")
scheduled = identifier()
step("scheduled", scheduled)
client.cancel_scheduled_notification(scheduled)
assert "Canceled" in str(client.get_notification_outcome_details(scheduled))
client.create_or_update_installation(
    {
        "installationId": installation,
        "platform": "apns",
        "pushChannel": token,
        "tags": ["sdk"],
        "templates": {"news": {"body": '{"aps":{"alert":"$(title)"}}', "tags": ["english"]}},
    }
)
assert installed()["templates"]["news"]["body"] == '{"aps":{"alert":"$(title)"}}', installed()
template = {"platform": "template", "body": '{"title":"Hello \\"you\\""}', "contentType": "application/json;charset=utf-8"}
client.send_notification(template, tag_expression=f"$InstallationId:{{{installation}}} && english")
sent = identifier()
for _ in range(50):
    details = client.get_notification_outcome_details(sent)
    if "Completed" in str(details):
        break
    time.sleep(0.1)
step("template", details)
assert "Success" in str(details), details
client.delete_installation(installation)
step("done", "every call was answered as the SDK expects")
