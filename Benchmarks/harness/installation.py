"""An installation as an operator would have it, with the receiver in place of the push services."""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import re
import secrets
import socket
import ssl
import subprocess
import threading
import time

import registrations
import stores
from api import API
from hub import Hub
from processes import Failure, Processes, cpu_of_all, cpu_seconds, forget_peak, peak_memory
from receiver import Receiver

# Our programs, and how each is told its port.
PORTS = {
    "api": "PUSHLINE_API_PORT",
    "register-worker": "PUSHLINE_WORKERS_REGISTER_PORT",
    "send-worker": "PUSHLINE_WORKERS_SEND_PORT",
    "delivery-worker": "PUSHLINE_WORKERS_DELIVERY_PORT",
}
OURS = tuple(PORTS)

# The one setting that differs from the default: a single key makes all requests.
APPS = """\
apps:
  default:
    requests_per_second: 1000000
    apns:
      key_file: "{folder}/apns.p8"
      key_id: ABC1234567
      team_id: DEF1234567
      topic: com.example.benchmark
      endpoint: "https://localhost:{port}"
      trust_file: "{folder}/server.pem"
    fcm:
      service_account_file: "{folder}/fcm.json"
      endpoint: "https://localhost:{port}"
      trust_file: "{folder}/server.pem"
    web:
      public_key: "{vapid}"
      private_key_file: "{folder}/vapid.pem"
      subject: mailto:benchmark@example.com
      endpoint_hosts: ["127.0.0.1:{port}"]
      private_networks: ["127.0.0.1"]
      trust_file: "{folder}/server.pem"
  # Asks for all that it may, in one figure; its limits are the usual ones.
  greedy:
    apns:
      key_file: "{folder}/apns.p8"
      key_id: ABC1234567
      team_id: DEF1234567
      topic: com.example.greedy
      endpoint: "https://localhost:{flooded}"
      trust_file: "{folder}/server.pem"
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class TokenEndpoint(http.server.BaseHTTPRequestHandler):
    """Gives everybody an access token, as Google does for the service accounts that it knows."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = json.dumps({"access_token": "ya29." + "b" * 200, "token_type": "Bearer", "expires_in": 3599}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Installation:
    def __init__(self, options, say):
        self.options = options
        self.say = say
        self.folder = pathlib.Path(options.folder)
        self.bin = pathlib.Path(options.bin)
        if options.server:
            self.store = stores.ServerStore(options.server)
        else:
            self.store = stores.FileStore(self.folder / "store.sqlite")
        self.processes = Processes(self.folder / "logs")
        self.served = None
        self.password = None
        # Others of one of our programs, by its name.
        self.added = {}

    # ---- Beginning and end ----

    def start(self):
        self._make_keys()
        self._start_token_endpoint()
        self.receiver = Receiver(self.processes, self.folder)
        # The push services are many machines: what floods one of them delays nobody else's pushes there.
        self.flooded = Receiver(self.processes, self.folder, "flooded-receiver")
        self._write_credentials()
        ports = {name: free_port() for name in OURS}
        self.console_port = free_port()
        self.environment = {
            **self.store.environment,
            "PUSHLINE_BROKER_URL": os.environ["BROKER_URL"],
            "PUSHLINE_API_CONSOLE_PORT": str(self.console_port),
            **{PORTS[name]: str(port) for name, port in ports.items()},
        }
        self.command("apps", "apply", self.folder / "apps.yaml")
        key = self.command("keys", "create", "bench", "--role", "operator").strip()
        self.ports = ports
        for name in OURS:
            self._launch(name)
        for name in OURS:
            self._wait_until_ready(name)
        self.api = API(ports["api"], key)

    def _launch(self, name):
        program = self.bin / f"pushline-{name}"
        self.processes.start(name, [program, "--config", self.options.config], self.environment)

    def _wait_until_ready(self, name):
        self.processes.wait_until_ready(name, f"http://127.0.0.1:{self.ports[name]}/readyz")

    @contextlib.contextmanager
    def without(self, name):
        """Ends one of our programs, and starts it again at the end."""
        self.processes.end(name)
        try:
            yield
        finally:
            self._launch(name)
            self._wait_until_ready(name)

    @contextlib.contextmanager
    def more(self, name, count):
        """Has so many more of one of our programs, whose CPU is counted with the first's."""
        self.added[name] = [f"{name}-{number + 2}" for number in range(count)]
        try:
            for other in self.added[name]:
                port = free_port()
                environment = {**self.environment, PORTS[name]: str(port)}
                self.processes.start(other, [self.bin / f"pushline-{name}", "--config", self.options.config], environment)
                self.processes.wait_until_ready(other, f"http://127.0.0.1:{port}/readyz")
            yield
        finally:
            for other in self.added.pop(name):
                self.processes.end(other)

    def operator(self):
        """The password of an operator of that name, who is made when first asked for."""
        if self.password is None:
            self.password = secrets.token_hex(9)
            self.command("accounts", "add", "operator", "--role", "operator", "--password-stdin", text=self.password + "\n")
        return self.password

    def hub(self):
        """The hub of the default app; it is started when it is first asked for."""
        if self.served is None:
            port = free_port()
            rule = ["hub", "rules", "create", "bench", "--rights", "send", "--endpoint", f"localhost:{port}"]
            connection = self.command(*rule)
            settings = {
                "PUSHLINE_HUB_PORT": str(port),
                "PUSHLINE_HUB_CERTIFICATE_FILE": str(self.folder / "server.pem"),
                "PUSHLINE_HUB_KEY_FILE": str(self.folder / "server.key"),
            }
            command = [self.bin / "pushline-hub", "--config", self.options.config]
            self.processes.start("hub", command, self.environment | settings)
            self.processes.wait_until_listening("hub", port)
            self.served = Hub(connection, self.folder / "server.pem")
        return self.served

    def stop(self):
        self.processes.stop()

    def register(self, services=registrations.SERVICES):
        """Imports the devices of some push services; returns how many there are."""
        file = self.folder / "devices.ndjson"
        lines = registrations.write(file, self.options.scale, f"https://127.0.0.1:{self.receiver.port}", services)
        start = time.monotonic()
        url = f"http://127.0.0.1:{self.api.port}"
        self.command("registrations", "import", file, PUSHLINE_URL=url, PUSHLINE_KEY=self.api.key)
        self.say(f"Imported {lines:,} registrations, {lines / (time.monotonic() - start):,.0f} a second.")
        file.unlink()
        return lines

    def command(self, *arguments, text=None, **environment):
        # What reads the store is told by the configuration where it is, what asks the API by variables.
        config = [] if environment else ["--config", self.options.config]
        result = subprocess.run(
            [self.bin / "pushline", *map(str, arguments), *config],
            env={**os.environ, **self.environment, **environment},
            input=text,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if result.returncode != 0:
            raise Failure(f"pushline {arguments[0]} {arguments[1]} failed: {result.stderr.strip()[-300:]}")
        return result.stdout

    # ---- Keys ----

    def _make_keys(self):
        def openssl(*arguments):
            command = ["openssl", *map(str, arguments)]
            return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout

        curve = ["-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("genpkey", "-algorithm", "EC", *curve, "-out", self.folder / "apns.p8")
        openssl("genpkey", "-algorithm", "EC", *curve, "-out", self.folder / "vapid.pem")
        # The public key ends with the point.
        point = openssl("pkey", "-in", self.folder / "vapid.pem", "-pubout", "-outform", "DER")[-65:]
        self.vapid = base64.urlsafe_b64encode(point).decode().rstrip("=")
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.folder / "fcm.key")
        openssl(
            *["req", "-x509", "-newkey", "ec", *curve, "-nodes", "-days", "2", "-subj", "/CN=localhost"],
            *["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            *["-keyout", self.folder / "server.key", "-out", self.folder / "server.pem"],
        )

    def _start_token_endpoint(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), TokenEndpoint)
        server.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.token_port = server.server_address[1]

    def _write_credentials(self):
        account = {
            "type": "service_account",
            "project_id": "benchmark",
            "private_key_id": "1",
            "private_key": (self.folder / "fcm.key").read_text(),
            "client_email": "benchmark@localhost",
            "token_uri": f"https://localhost:{self.token_port}/token",
        }
        (self.folder / "fcm.json").write_text(json.dumps(account))
        apps = APPS.format(folder=self.folder, port=self.receiver.port, flooded=self.flooded.port, vapid=self.vapid)
        (self.folder / "apps.yaml").write_text(apps)

    # ---- What it costs ----

    def cpu(self):
        """Seconds of CPU so far, by process."""
        hub = ["hub"] if self.served else []
        pids = {name: self.processes.pid(name) for name in (*OURS, *hub, "receiver")}
        pids["broker"] = self.options.broker_pid
        used = {name: cpu_seconds(pid) for name, pid in pids.items()}
        for name, others in self.added.items():
            used[name] += sum(cpu_seconds(self.processes.pid(other)) for other in others)
        if self.options.server:
            used["postgresql"] = cpu_of_all(self.store.processes())
        return used

    def forget_memory(self):
        for name in OURS:
            forget_peak(self.processes.pid(name))

    def memory(self):
        """The largest resident size of each of our processes, in MB."""
        return {name: peak_memory(self.processes.pid(name)) / 1e6 for name in OURS}

    # ---- What the store says ----

    def unfinished_jobs(self):
        return self._ask("SELECT sum(unfinished) FROM backlog")

    def accepted_devices(self, after):
        """Devices that a push service took, of the jobs above that sequence."""
        return self._ask("SELECT coalesce(sum(count), 0) FROM job_counts WHERE class = 1 AND job > ?", after)

    def last_sequence(self):
        return self._ask("SELECT coalesce(max(sequence), 0) FROM job")

    def jobs(self, after):
        """How many there are above that sequence: a server leaves numbers out."""
        return self.rows("SELECT count(*) FROM job WHERE sequence > ?", after)[0][0]

    def rows(self, sql, *values):
        return self.store.rows(sql, *values)

    def _ask(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def counter(self, name):
        """What the API has counted so far; a counter that nothing was counted in is not there."""
        text = self.api.request("GET", "/metrics").decode()
        found = re.search(rf"^{name}(?:\{{.*\}})? (\d+)", text, re.MULTILINE)
        return int(found.group(1)) if found else 0

    def configured(self, section, key):
        """A number of the configuration file, such as connections in the section delivery."""
        text = pathlib.Path(self.options.config).read_text()
        # Keys of a section are indented: another section may have one of the same name.
        found = re.search(rf"^{section}:.*\n(?:(?:[ #].*)?\n)*?\s+{key}:\s*(\d+)", text, re.MULTILINE)
        if not found:
            raise Failure(f"{section}.{key} is not in {self.options.config}")
        return int(found.group(1))
