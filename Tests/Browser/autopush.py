"""A push service as Firefox speaks to it (autopush): the browser's side is a WebSocket."""

import base64
import hashlib
import json
import secrets
import struct

from pushservice import Handler, PushService


class Autopush(PushService):
    def __init__(self, certificate, key):
        super().__init__(certificate, key)
        self.acknowledged = []
        self.websocket = f"ws://127.0.0.1:{self.serve(BrowserSide)}/"

    def deliver(self, connection, channel, record, ttl):
        connection.tell({
            "messageType": "notification", "channelID": channel, "version": secrets.token_hex(8), "ttl": ttl,
            "data": base64.urlsafe_b64encode(record).rstrip(b"=").decode(), "headers": {"encoding": "aes128gcm"},
        })


class BrowserSide(Handler):
    uaid = None

    def do_GET(self):
        accept = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        if "Sec-WebSocket-Protocol" in self.headers:
            self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"].split(",")[0].strip())
        self.end_headers()
        self.close_connection = True
        try:
            while (message := self.message()) is not None:
                self.answer(json.loads(message))
        finally:
            self.service.disconnected(self.uaid, self)

    def answer(self, message):
        kind = message.get("messageType", "ping")
        if kind == "hello":
            self.uaid = message.get("uaid") or secrets.token_hex(16)
            self.tell({"messageType": "hello", "status": 200, "uaid": self.uaid, "use_webpush": True, "broadcasts": {}})
            self.service.connected(self.uaid, self)
        elif kind == "register":
            name = self.service.register(self.uaid, message["channelID"])
            endpoint = f"https://{self.service.host}{self.service.path}{name}"
            self.tell({"messageType": "register", "channelID": message["channelID"], "status": 200, "pushEndpoint": endpoint})
        elif kind == "unregister":
            self.service.unregister(lambda *whose: whose == (self.uaid, message["channelID"]))
            self.tell({"messageType": "unregister", "channelID": message["channelID"], "status": 200})
        elif kind == "ack":
            self.service.acknowledged += [update.get("code") for update in message["updates"]]
        elif kind == "ping":
            self.tell({})

    def message(self):
        """A text message of one frame, which is all that Firefox sends here; None at the end."""
        head = self.rfile.read(2)
        if len(head) < 2 or head[0] & 0x0F == 8:
            return None
        length = head[1] & 0x7F
        if length >= 126:
            length = struct.unpack("!H" if length == 126 else "!Q", self.rfile.read(2 if length == 126 else 8))[0]
        mask = self.rfile.read(4)
        return bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(length)))

    def tell(self, message):
        text = json.dumps(message).encode()
        length = bytes([len(text)]) if len(text) < 126 else b"\x7e" + struct.pack("!H", len(text))
        with self.service.lock:
            self.wfile.write(b"\x81" + length + text)
            self.wfile.flush()
