"""What the test's push services have in common: endpoints over HTTPS that a sender posts to, and threads that serve."""

import http.server
import secrets
import socketserver
import ssl
import sys
import threading


class PushService:
    """A service knows a browser by a name and passes on what comes to its subscriptions; `deliver` is each service's own."""

    # The path of endpoints; a subscription's name follows.
    path = "/push/"

    def __init__(self, certificate, key):
        self.lock = threading.Lock()
        # Whose each subscription is, and what the service knows it by, under its name.
        self.subscriptions = {}
        # The connections of browsers; one may be another one by the time of the push.
        self.browsers = {}
        self.is_connected = threading.Event()
        # While it is clear, endpoints take pushes and do not answer.
        self.gate = threading.Event()
        self.gate.set()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.host = f"127.0.0.1:{self.serve(Endpoint, self.tls)}"

    def serve(self, handler, tls=None):
        """Serves on a port of its own, which is returned."""
        server = Server(("127.0.0.1", 0), type(handler.__name__, (handler,), {"service": self}))
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_address[1]

    def register(self, browser, identity):
        """A new subscription's name."""
        name = secrets.token_urlsafe(24)
        with self.lock:
            self.subscriptions[name] = (browser, identity)
        return name

    def unregister(self, is_gone):
        """By the browser's own wish: those of which the function says so, given the browser and what the service knows it by."""
        with self.lock:
            self.subscriptions = {name: whose for name, whose in self.subscriptions.items() if not is_gone(*whose)}

    def forget(self, endpoint):
        """From now on the subscription is gone."""
        with self.lock:
            del self.subscriptions[endpoint.rsplit("/", 1)[1]]

    def connected(self, browser, connection):
        with self.lock:
            self.browsers[browser] = connection
        self.is_connected.set()

    def disconnected(self, browser, connection):
        with self.lock:
            # Another connection may have taken its place.
            if self.browsers.get(browser) is connection:
                del self.browsers[browser]


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        # Browsers give up connections as they like, and come again.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Endpoint(Handler):
    """The sender's side (RFC 8030)."""

    def do_POST(self):
        record = self.body()
        self.service.gate.wait()
        path, _, name = self.path.rpartition("/")
        with self.service.lock:
            browser, identity = self.service.subscriptions.get(name, (None, None))
            connection = self.service.browsers.get(browser)
        is_right = self.headers["Content-Encoding"] == "aes128gcm" and (self.headers["Authorization"] or "").startswith("vapid ")
        if path + "/" != self.service.path or not is_right or "TTL" not in self.headers:
            status = 400
        elif browser is None:
            status = 410
        else:
            try:
                if connection is None:
                    raise ConnectionError
                self.service.deliver(connection, identity, record, int(self.headers["TTL"]))
                status = 201
            except (OSError, ValueError):
                # Nothing is kept for a browser that is away: the sender comes again.
                status = 503
        self.reply(status, Location=f"https://{self.service.host}/m/{secrets.token_hex(8)}")
