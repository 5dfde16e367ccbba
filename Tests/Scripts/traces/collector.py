"""Takes spans as a collector does, and keeps each body as a file, for as long as the process lives that began it.

    python3 collector.py FOLDER PORT_FILE
"""

import http.server
import itertools
import os
import pathlib
import sys

FOLDER, PORT_FILE = map(pathlib.Path, sys.argv[1:3])
NUMBERS = itertools.count()


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_right = self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
        if is_right:
            file = FOLDER / f"{next(NUMBERS)}.json"
            # Under its name it is whole.
            file.with_suffix(".part").write_bytes(body)
            file.with_suffix(".part").rename(file)
        self.send_response(200 if is_right else 400)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
PORT_FILE.write_text(str(server.server_port))
server.timeout = 1
parent = os.getppid()
while os.getppid() == parent:
    server.handle_request()
