"""The measurements: each gives the figures of one run, beside limits that are measured in the same run."""

import json
import statistics
import subprocess
import time

import load
import registrations
from console import Console
from crash import Crash
from hub import HubFigures
from isolation import Isolation
from load import percentile
from messages import MESSAGE, small_send
from neighbours import Neighbours
from processes import Failure
from signins import SignIns
from watchers import Watchers
from whole import WHOLE

STREAMS_APNS, STREAMS_FCM = 1000, 100
# Handles of direct sends: so many, so many a send, with numbers that no registered device has.
DIRECT_DEVICES, DIRECT_LIST, UNREGISTERED = 400_000, 20_000, 1 << 32
# Different messages to as many users.
TARGETED = 100_000
# Those who watch one job at a time.
WATCHERS = 1000
# Milliseconds that nothing happens before each single send, and before each of the parts that it is compared with.
REST = 20
# Pairs of sends to all, the plain message and that of all members.
PAIRS = 3


class Figures:
    def __init__(self, installation, options, say):
        self.installation = installation
        self.options = options
        self.say = say
        self.idle_p99 = None
        self.sign_ins = SignIns(installation, options, say)
        self.greed = Neighbours(self)

    # ---- One send to many ----

    def fan_out_to(self, tag, platform, devices, message=MESSAGE):
        message = {"to": {"tag": tag}, "services": [platform], **message}
        return self.fan_out(lambda: self.installation.api.send(message), platform, devices)

    def fan_out(self, begin, platform, devices):
        """From the moment before the request until every outcome is recorded; `begin` sends, and returns the job's id."""
        installation = self.installation
        installation.receiver.reset()
        installation.forget_memory()
        before = installation.cpu()
        start = time.monotonic()
        job = installation.api.wait_until_final(begin())
        seconds = time.monotonic() - start
        after = installation.cpu()
        counts = installation.receiver.counts()
        totals = job["totals"]
        if totals["targets"] != devices or totals["accepted"] != devices or counts[platform] != devices:
            raise Failure(f"{devices} devices were meant; the job says {totals}, the receiver {counts[platform]}")
        cpu = {name: after[name] - before[name] for name in before}
        costs = ", ".join(f"{name} {used / devices * 1e6:.2f}" for name, used in cpu.items())
        self.say(
            f"  {devices} devices in {seconds:.2f} s = {devices / seconds:,.0f}/s, "
            f"{counts['connections']} connections; CPU a device {sum(cpu.values()) / devices * 1e6:.2f} us: {costs}"
        )
        return devices / seconds

    def _limit(self, name, requests, streams, paths):
        """The same requests from h2load; to be called when a fan-out has just shown what they are."""
        installation = self.installation
        headers, body = installation.receiver.sample()
        file = installation.folder / f"{name}-paths"
        if not file.exists():
            load.write_paths(file, paths)
        # h2load counts the body itself.
        headers = [(key, value) for key, value in headers if key != "content-length"]
        connections = installation.configured("delivery", "connections")
        before = installation.cpu()["receiver"]
        rate, cpu = load.http2(installation.receiver, file, requests, connections, streams, headers, body, installation.folder)
        ours = (installation.cpu()["receiver"] - before) / requests
        self.say(
            f"  h2load, {connections} connections x {streams} streams: {rate:,.0f}/s; "
            f"CPU a request: h2load {cpu * 1e6:.2f} us, receiver {ours * 1e6:.2f} us"
        )
        return rate

    def fanout(self):
        devices = int(registrations.APNS_DEVICES * self.options.scale)
        small = int(registrations.SMALL_DEVICES * self.options.scale)
        many = self.fan_out_to(registrations.EVERYONE, "apns", devices)
        memory = self.installation.memory()
        self.say("  memory: " + ", ".join(f"{name} {size:.0f} MB" for name, size in memory.items()))
        # After the many: what is opened and learned at the first send is in neither's favour then.
        few = self.fan_out_to(registrations.SMALL, "apns", small)
        limit = self._limit("apns", devices, STREAMS_APNS, registrations.apns_paths(devices))
        direct = self._direct(int(DIRECT_DEVICES * self.options.scale))
        return {
            "fanout_ratio": many / limit,
            "direct_ratio": direct / many,
            "direct_per_s": direct,
            "fanout_growth": few / many,
            "fanout_memory_mb": max(memory.values()),
            "fanout_per_s": many,
            "h2load_per_s": limit,
        }

    def _direct(self, devices):
        """As a fan-out, for handles that no registration has: from before the first request until every outcome is recorded."""
        installation = self.installation
        bodies = []
        for start in range(0, devices, DIRECT_LIST):
            numbers = range(UNREGISTERED + start, UNREGISTERED + min(start + DIRECT_LIST, devices))
            handles = [{"service": "apns", "handle": registrations.apns_token(number)} for number in numbers]
            bodies.append(json.dumps({"to": {"handles": handles}, **MESSAGE}).encode())
        installation.receiver.reset()
        before = installation.cpu()
        start = time.monotonic()
        jobs = [json.loads(installation.api.request("POST", "/api/sends", body))["id"] for body in bodies]
        taken = time.monotonic() - start
        accepted = sum(installation.api.wait_until_final(job)["totals"]["accepted"] for job in jobs)
        seconds = time.monotonic() - start
        after = installation.cpu()
        received = installation.receiver.counts()["apns"]
        if accepted != devices or received != devices:
            raise Failure(f"{devices} handles were meant; the jobs say {accepted}, the receiver {received}")
        costs = ", ".join(f"{name} {(after[name] - before[name]) / devices * 1e6:.2f}" for name in before)
        self.say(
            f"  {devices} handles, {DIRECT_LIST} a send: taken in {taken:.2f} s, done in {seconds:.2f} s = "
            f"{devices / seconds:,.0f}/s; CPU a device in us: {costs}"
        )
        return devices / seconds

    def fcm(self):
        devices = int(registrations.FCM_DEVICES * self.options.scale)
        rate = self.fan_out_to(registrations.ANDROID, "fcm", devices)
        limit = self._limit("fcm", devices, STREAMS_FCM, ["/v1/projects/benchmark/messages:send"])
        return {"fcm_ratio": rate / limit, "fcm_per_s": rate}

    def web(self):
        """Each message is encrypted for its browser, with a key of its own; so there is no h2load that sends the same."""
        devices = int(registrations.WEB_DEVICES * self.options.scale)
        return {"webpush_devices_per_s": self.fan_out_to(registrations.BROWSERS, "web", devices)}

    # ---- Many small sends ----

    def targeted(self):
        messages = int(TARGETED * self.options.scale)
        limit = self._publish(messages, 1000)["per_second"]
        rate = self.small_sends(messages)
        self.say(f"  limit {limit:,.0f}/s")
        return {"targeted_per_s": rate, "targeted_ratio": rate / limit}

    def small_sends(self, messages):
        """So many different messages to as many users, a second; ends when every outcome is recorded."""
        installation = self.installation
        first = installation.last_sequence()
        installation.receiver.reset()
        bodies = [
            [small_send(number) for number in range(start, min(start + 10_000, messages))]
            for start in range(0, messages, 10_000)
        ]
        before = installation.cpu()
        start = time.monotonic()
        for lines in bodies:
            refused = [answer for answer in installation.api.send_many(lines) if answer.get("status", 202) >= 400]
            if refused:
                raise Failure(f"a line was refused: {refused[0]}")
        taken = time.monotonic() - start
        self.wait_for_all(600)
        seconds = time.monotonic() - start
        after = installation.cpu()
        accepted, received = installation.accepted_devices(first), installation.receiver.counts()["apns"]
        if accepted != messages or received != messages:
            raise Failure(f"{messages} messages were sent; the outcomes say {accepted}, the receiver {received}")
        costs = ", ".join(f"{name} {(after[name] - before[name]) / messages * 1e6:.1f} us" for name in before)
        self.say(f"  {messages} messages: taken in {taken:.2f} s, done in {seconds:.2f} s")
        self.say(f"  CPU a message: {costs}")
        return messages / seconds

    def wait_for_all(self, seconds):
        end = time.monotonic() + seconds
        while self.installation.unfinished_jobs() > 0:
            if time.monotonic() > end:
                raise Failure(f"jobs are unfinished after {seconds} s")
            time.sleep(0.05)

    # ---- The API ----

    def _healthz(self, connections):
        return load.http1(f"http://127.0.0.1:{self.installation.api.port}/healthz", connections, self.options.seconds)

    def accept(self):
        idle = self._healthz(64)
        rate = self.accept_rate()
        self.say(f"  /healthz {idle:,.0f}/s")
        return {"accept_ratio": rate / idle, "accept_per_s": rate}

    def accept_rate(self):
        """Sends a second that the API accepts; ends when they have."""
        installation = self.installation
        body = installation.folder / "send.json"
        body.write_text(json.dumps({"to": {"user": registrations.user(1)}, **MESSAGE}))
        url = f"http://127.0.0.1:{installation.api.port}/api/sends"
        first, before = installation.last_sequence(), installation.cpu()
        rate = load.http1(url, 64, self.options.seconds, installation.api.key, body)
        unfinished = installation.unfinished_jobs()
        self.say(f"  accepted {rate:,.0f}/s; waiting for {unfinished} sends to end")
        self.wait_for_all(600)
        after, sends = installation.cpu(), installation.jobs(first)
        costs = ", ".join(f"{name} {(after[name] - before[name]) / sends * 1e6:.1f} us" for name in before)
        self.say(f"  CPU a send: {costs}")
        return rate

    def register(self):
        """A backend's key registers devices on behalf of users; each answer comes when the device can be sent to."""
        installation = self.installation
        first, before = installation.last_sequence(), installation.cpu()
        url = f"http://127.0.0.1:{installation.api.port}"
        rate = load.http1_registering(url, 64, self.options.seconds, installation.api.key, first)
        after, changes = installation.cpu(), installation.jobs(first)
        costs = ", ".join(f"{name} {(after[name] - before[name]) / changes * 1e6:.1f} us" for name in before)
        self.say(f"  registered {rate:,.0f}/s; CPU a registration: {costs}")
        return {"register_per_s": rate}

    def status(self):
        installation = self.installation
        idle = self._healthz(8)
        installation.receiver.reset()
        job = installation.api.send({"to": {"tag": registrations.EVERYONE}, "services": ["apns"], **MESSAGE})
        rate = load.http1(
            f"http://127.0.0.1:{installation.api.port}/api/jobs/{job}", 8, self.options.seconds, installation.api.key
        )
        is_over = installation.api.job(job)["isFinal"]
        installation.api.wait_until_final(job)
        note = " (the fan-out ended before the measurement did)" if is_over else ""
        self.say(f"  status {rate:,.0f}/s, /healthz {idle:,.0f}/s{note}")
        return {"status_ratio": rate / idle, "status_per_s": rate}

    def watchers(self):
        """What those who watch the send to all cost the API, beside the same send unwatched."""
        alone, _, _ = self._watched(0)
        watched, reads, events = self._watched(WATCHERS)
        self.say(
            f"  the API alone {alone:.3f} cores; with {WATCHERS} watchers {watched:.3f}, {reads:.2f} reads and "
            f"{events:,.0f} events a second"
        )
        figures = {"watch_reads_per_s": reads, "watch_cores": max(0, watched - alone), "watch_events_per_s": events}
        return figures | Console(self).measure()

    def _watched(self, count):
        """The API's cores, its reads of the job and the events a second, from when all watch until the job is final."""
        installation = self.installation
        installation.receiver.reset()
        job = installation.api.send({"to": {"tag": registrations.EVERYONE}, "services": ["apns"], **MESSAGE})
        api = installation.api
        watchers = Watchers(api.port, f"Authorization: Bearer {api.key}", job, count)
        watchers.wait_until_all_are_told()
        before, reads, start = installation.cpu()["api"], self._watch_reads(), time.monotonic()
        if installation.api.job(job)["isFinal"]:
            raise Failure("the job ended before all watched it")
        installation.api.wait_until_final(job, pause=0.25)
        events = watchers.wait_until_ended() - count
        seconds = time.monotonic() - start
        cores = (installation.cpu()["api"] - before) / seconds
        return cores, (self._watch_reads() - reads) / seconds, events / seconds

    def _watch_reads(self):
        return self.installation.counter("pushline_job_watch_reads_total")

    def signin(self):
        return self.sign_ins.figures()

    def whole(self):
        """A message of all members beside the plain one, in turn: each against h2load with its own headers and body."""
        devices = int(registrations.APNS_DEVICES * self.options.scale)

        def ratio(message):
            rate = self.fan_out_to(registrations.EVERYONE, "apns", devices, message)
            return rate / self._limit("apns", devices, STREAMS_APNS, registrations.apns_paths(devices))

        # Whatever the machine does meanwhile, it does to both of a pair; the first of them is warm then, too.
        pairs = [(ratio(MESSAGE), ratio(WHOLE)) for _ in range(PAIRS)]
        return {
            "whole_ratio": statistics.median(whole / plain for plain, whole in pairs),
            "whole_fanout_ratio": statistics.median(whole for _, whole in pairs),
        }

    def hub(self):
        return HubFigures(self).measure()

    def isolation(self):
        return Isolation(self).measure()

    # ---- Latency ----

    def single(self, number, **message):
        """Milliseconds from the request to the receiver."""
        number %= registrations.TRACED_DEVICES
        api = self.installation.api
        start = api.begin_send({"to": {"user": registrations.traced_user(number)}, "title": "Single", **message})
        arrival = self.installation.receiver.arrival(number, 30)
        api.end_send()
        return (arrival - start) / 1e6

    def idle(self):
        # At the rate of the sends: whatever comes after a rest finds caches cold and processors asleep.
        commit, publish = self._parts(200, REST)
        loop = sum(part * count for part, count in zip(self._parts(500, 0), (1, 2)))
        times = []
        for number in range(self.options.singles):
            times.append(self.single(number))
            # Until its outcome is recorded too: there is to be nothing else to do.
            time.sleep(REST / 1e3)
        median, slowest = percentile(times, 0.5), percentile(times, 0.99)
        limit = commit + 2 * publish
        self.idle_p99 = slowest
        self.say(
            f"  single send: median {median:.2f} ms, 99 % {slowest:.2f} ms; after the same rest a commit takes {commit:.2f} ms, "
            f"a confirmed publish {publish:.2f} ms; in a loop, one and two of them {loop:.2f} ms"
        )
        return {
            "idle_p50_ratio": median / limit,
            "idle_p99_ratio": slowest / median,
            "idle_p99_ms": slowest,
            "idle_p50_ms": median,
            "idle_p50_loop_ratio": median / loop,
        }

    def _parts(self, count, rest):
        """Milliseconds of one durable commit and of one confirmed publish, medians."""
        commit = self._limits("commit", self.installation.folder / "commits.sqlite", count, rest)["p50_us"] / 1e3
        return commit, self._publish(count, 1, rest)["p50_us"] / 1e3

    def urgent(self):
        """While the million runs; compared with the idle sends, which are measured before it where they were not yet."""
        if self.idle_p99 is None:
            self.idle()
        idle = self.idle_p99
        api = self.installation.api
        job = api.send({"to": {"tag": registrations.EVERYONE}, "services": ["apns"], **MESSAGE})
        times, number = [], 0
        while not api.job(job)["isFinal"]:
            times.append(self.single(number, priority="high"))
            number += 1
            time.sleep(0.02)
        slowest = percentile(times, 0.99)
        self.say(f"  {len(times)} urgent sends: median {percentile(times, 0.5):.1f} ms, 99 % {slowest:.1f} ms")
        return {"urgent_ratio": slowest / idle, "urgent_p99_ms": slowest}

    def neighbours(self):
        return self.greed.measure()

    def crash(self):
        return Crash(self, MESSAGE).measure()

    # ---- Limits ----

    def _limits(self, *arguments):
        command = [self.installation.folder / "limits", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if result.returncode != 0:
            raise Failure(f"the limit cannot be measured: {result.stderr.strip()}")
        return json.loads(result.stdout)

    def _publish(self, count, window, rest=0):
        return self._limits("publish", count, window, rest)
