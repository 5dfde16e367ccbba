"""A push service as Chromium speaks to it: check-in and registration over HTTP, messages over MCS, whose protobufs have few members here.

Chromium is led to it by switches (`switches`). The host of its endpoints is fixed in the browser, so the app's declaration leads the
sender here too (`connect_to`).
"""

import io
import secrets
import socketserver
import time
import urllib.parse

from pushservice import Handler, PushService

# Google's own builds subscribe at the first one, Debian's at the other.
HOSTS = ["fcm.googleapis.com", "jmt17.google.com"]

VERSION = 41
PING, PONG, LOGIN, LOGGED_IN, DATA = 0, 1, 2, 3, 8


class GCM(PushService):
    path = "/fcm/send/"

    def __init__(self, certificate, key):
        super().__init__(certificate, key)
        http = f"http://127.0.0.1:{self.serve(Registration)}"
        self.switches = [
            f"--gcm-checkin-url={http}/checkin",
            f"--gcm-registration-url={http}/register",
            f"--gcm-mcs-endpoint=https://127.0.0.1:{self.serve(BrowserSide, self.tls)}",
        ]

    def deliver(self, connection, identity, record, ttl):
        application, subtype, sender = identity
        data = {"subtype": subtype, "content-encoding": "aes128gcm"}
        connection.tell(DATA, b"".join([
            member(3, sender), member(5, application),
            *(member(7, member(1, name) + member(2, value)) for name, value in data.items()),
            member(9, secrets.token_hex(8)), member(17, ttl), member(18, int(time.time() * 1000)), member(21, record),
        ]))


class Registration(Handler):
    def do_POST(self):
        body = self.body()
        if self.path == "/checkin":
            # stats_ok, then android_id and security_token (both fixed64), which the browser is known by from now on.
            name, token = secrets.randbits(62) | 1, secrets.randbits(62) | 1
            self.reply(200, member(1, 1) + b"\x39" + name.to_bytes(8, "little") + b"\x41" + token.to_bytes(8, "little"))
            return
        form = dict(urllib.parse.parse_qsl(body.decode()))
        # The browser's own parts have no subtype, and pages ("wp:…") have.
        device, application, subtype = form["device"], form["app"], form.get("X-subtype", "")
        if form.get("delete") == "true":
            self.service.unregister(lambda browser, identity: (browser, *identity[:2]) == (device, application, subtype))
            self.reply(200, b"token=" + application.encode())
        else:
            self.reply(200, b"token=" + self.service.register(device, (application, subtype, form["sender"])).encode())


class BrowserSide(socketserver.StreamRequestHandler):
    name = None

    def handle(self):
        try:
            # The first byte of either side is the version.
            self.rfile.read(1)
            while tag := self.rfile.read(1):
                self.answer(tag[0], dict(members(self.rfile.read(varint(self.rfile)))))
        finally:
            self.service.disconnected(self.name, self)

    def answer(self, tag, message):
        if tag == LOGIN:
            # The user is the android_id of the check-in.
            self.name = message[3].decode()
            self.wfile.write(bytes([VERSION]))
            self.tell(LOGGED_IN, member(1, message[1]))
            self.service.connected(self.name, self)
        elif tag == PING:
            self.tell(PONG, b"")

    def tell(self, tag, message):
        with self.service.lock:
            self.wfile.write(bytes([tag]) + number(len(message)) + message)


def number(value):
    """A number as protobuf writes it: seven bits a byte, the lowest first."""
    text = bytearray()
    while value > 0x7F:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(text + bytes([value]))


def member(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(value)) + value


def varint(file):
    value = shift = 0
    while True:
        [byte] = file.read(1)
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value


def members(text):
    """The members of a message that are numbers or bytes; the last one where a member is repeated."""
    file = io.BytesIO(text)
    while file.tell() < len(text):
        key = varint(file)
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint(file)
        elif kind == 2:
            yield key >> 3, file.read(varint(file))
        else:
            file.read(8 if kind == 1 else 4)
