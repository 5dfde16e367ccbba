"""A push service as Firefox speaks to it (autopush): endpoints over HTTPS, the browser's side over a WebSocket."""

import base64
import hashlib
import http.server
import json
import secrets
import socketserver
import ssl
import struct
import threading


class Autopush:
    def __init__(self, certificate, key):
        self.lock = threading.Lock()
        # A browser's connection may be another one by the time of the push.
        self.browsers = {}
        self.channels = {}
        self.acknowledged = []
        # While it is clear, endpoints take pushes and do not answer.
        self.gate = threading.Event()
        self.gate.set()
        self.endpoints = self.serve(Endpoint, certificate, key)
        self.browser_side = self.serve(BrowserSide)
        self.websocket = f"ws://127.0.0.1:{self.browser_side}/"
        self.host = f"127.0.0.1:{self.endpoints}"

    def serve(self, handler, certificate=None, key=None):
        owner = self

        class Bound(handler):
            service = owner

        server = Server(("127.0.0.1", 0), Bound)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_address[1]

    def register(self, uaid, channel):
        with self.lock:
            name = secrets.token_urlsafe(24)
            self.channels[name] = (uaid, channel)
        return f"https://{self.host}/push/{name}"

    def forget(self, endpoint):
        """From now on the subscription is gone."""
        with self.lock:
            del self.channels[endpoint.rsplit("/", 1)[1]]

    def unregister(self, uaid, channel):
        """As `forget`, by the browser's own wish."""
        with self.lock:
            self.channels = {name: whose for name, whose in self.channels.items() if whose != (uaid, channel)}


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Endpoint(Handler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.service.gate.wait()
        with self.service.lock:
            uaid, channel = self.service.channels.get(self.path.rsplit("/", 1)[1], (None, None))
            browser = self.service.browsers.get(uaid)
        is_right = self.headers["Content-Encoding"] == "aes128gcm" and (self.headers["Authorization"] or "").startswith("vapid ")
        status = 410 if uaid is None else 201 if is_right and "TTL" in self.headers else 400
        if status == 201:
            try:
                if browser is None:
                    raise ConnectionError
                browser.tell({
                    "messageType": "notification", "channelID": channel, "version": secrets.token_hex(8), "ttl": int(self.headers["TTL"]),
                    "data": base64.urlsafe_b64encode(body).rstrip(b"=").decode(), "headers": {"encoding": "aes128gcm"},
                })
            except (OSError, ValueError):
                # Nothing is kept for a browser that is away: the sender comes again.
                status = 503
        self.send_response(status)
        self.send_header("Location", f"https://{self.service.host}/m/{secrets.token_hex(8)}")
        self.send_header("Content-Length", "0")
        self.end_headers()


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
            with self.service.lock:
                # Another connection may have taken its place.
                if self.service.browsers.get(self.uaid) is self:
                    del self.service.browsers[self.uaid]

    def answer(self, message):
        kind = message.get("messageType", "ping")
        if kind == "hello":
            self.uaid = message.get("uaid") or secrets.token_hex(16)
            with self.service.lock:
                self.service.browsers[self.uaid] = self
            self.tell({"messageType": "hello", "status": 200, "uaid": self.uaid, "use_webpush": True, "broadcasts": {}})
        elif kind == "register":
            endpoint = self.service.register(self.uaid, message["channelID"])
            self.tell({"messageType": "register", "channelID": message["channelID"], "status": 200, "pushEndpoint": endpoint})
        elif kind == "unregister":
            self.service.unregister(self.uaid, message["channelID"])
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
