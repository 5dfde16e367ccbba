"""A reverse proxy that has the API's port below a path of its own; it knows what was read, and can lose the API between an act and its answer."""

import http.client
import http.server
import threading


class Proxy:
    def __init__(self, port, prefix):
        """`port` is where the API is, `prefix` what the proxy adds and takes away."""
        self.port, self.prefix = port, prefix
        self.requests, self.strays, self.events = [], [], {}
        self.loss = None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.proxy = self
        self.url = f"http://127.0.0.1:{self.server.server_port}{prefix}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def lose(self, answers, kill):
        """The answers to what changes something are not handed on: once so many have come, `kill` ends the API. Nothing is asked meanwhile."""
        self.loss = Loss(answers, kill)

    def hand_on(self):
        self.loss = None


class Loss:
    def __init__(self, answers, kill):
        self.answers, self.kill = answers, kill
        self.lock = threading.Lock()

    def count(self):
        with self.lock:
            self.answers -= 1
            if self.answers == 0:
                self.kill()


class Handler(http.server.BaseHTTPRequestHandler):
    def forward(self):
        proxy = self.server.proxy
        if not self.path.startswith(proxy.prefix + "/"):
            proxy.strays.append(self.path)
            return self.send_error(404)
        path = self.path.removeprefix(proxy.prefix)
        if self.command == "GET":
            proxy.requests.append(path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=120)
        loss = proxy.loss if self.command != "GET" else None
        try:
            upstream.request(self.command, path, body or None, {name: value for name, value in self.headers.items() if name.lower() != "connection"})
            answer = upstream.getresponse()
            if loss is None:
                return self.hand_on(path, answer)
            answer.read()
        except (OSError, http.client.HTTPException):
            # The API is away: so is this connection, without a word.
            return None
        finally:
            upstream.close()
        loss.count()

    def hand_on(self, path, answer):
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "keep-alive", "transfer-encoding"):
                self.send_header(name, value)
        self.end_headers()
        # As it comes: an event is of use at once.
        while piece := answer.read1(65536):
            if path.endswith("/events"):
                self.server.proxy.events[path] = self.server.proxy.events.get(path, 0) + piece.count(b"event: job")
            self.wfile.write(piece)
            self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

    def log_message(self, *_):
        """What was asked for stands in the proxy's list."""
