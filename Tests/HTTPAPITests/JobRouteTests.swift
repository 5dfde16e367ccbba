import Broker
import HTTPTypes
import Intake
import NIOConcurrencyHelpers
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

@Suite(.undisturbed) struct JobRouteTests {
    @Test func listsArePaged() async throws {
        try await Harness.run { api async throws in
            var sent: [String] = []
            for number in 0..<5 {
                let body = #"{"to":{"user":"bob"},"body":"\#(number)"}"#
                let answer = try await api.call(.post, "/api/sends", body: body, headers: ["Prefer": "wait=5"])
                sent.append(try #require(answer.json["id"]?.text))
            }
            var seen: [String] = []
            var cursor: String? = ""
            while let next = cursor {
                let page = try await api.call(.get, "/api/jobs?limit=2\(next.isEmpty ? "" : "&cursor=\(next)")")
                #expect(page.status == 200)
                seen += page.json["items"]?.elements.compactMap { $0["id"]?.text } ?? []
                cursor = page.json["cursor"]?.text
            }
            #expect(seen == sent.reversed())
            // Just as many as there are: nothing comes after them.
            #expect(try await api.call(.get, "/api/jobs?limit=5").json["cursor"] == nil)
            #expect(try await api.call(.get, "/api/jobs?limit=4").json["cursor"] != nil)
            for query in [
                "state=completed&kind=send", "since=2020-01-01T00:00:00Z", "since=2020-01-01T00:00:00.5%2B01:00",
                "user=alice",
            ] {
                #expect(try await api.call(.get, "/api/jobs?\(query)").json["items"]?.elements.count == 5, "\(query)")
            }
            for query in ["state=running", "kind=register", "since=2999-01-01T00:00:00Z", "service=wns"] {
                #expect(
                    try await api.call(.get, "/api/jobs?\(query)").json["items"]?.elements.isEmpty == true,
                    "\(query)"
                )
            }
        }
    }

    @Test func theRefusalNamesTheWrongParameter() async throws {
        try await Harness.run { api async throws in
            let id = try #require(
                try await api.call(.post, "/api/sends", body: #"{"to":{"user":"bob"},"body":"x"}"#).json["id"]?.text
            )
            for (path, member) in [
                ("/api/jobs?state=done", "state"), ("/api/jobs?kind=x", "kind"), ("/api/jobs?service=adm", "service"),
                ("/api/jobs?user=a%0Ab", "user"), ("/api/jobs?since=yesterday", "since"),
                ("/api/jobs?limit=0", "limit"),
                ("/api/jobs?limit=1001", "limit"), ("/api/jobs?limit=x", "limit"), ("/api/jobs?cursor=junk", "cursor"),
                ("/api/jobs?cursor=", "cursor"), ("/api/jobs?colour=red", "colour"),
                ("/api/jobs?limit=1&limit=2", "limit"),
                ("/api/jobs?user=%zz", "user"), ("/api/jobs?user=%ff", "user"), ("/api/jobs/\(id)?x=1", "x"),
                ("/api/jobs/\(id)/deliveries?outcome=lost", "outcome"),
                ("/api/jobs/\(id)/deliveries?cursor=!", "cursor"),
                ("/api/registrations?tag=a%20b", "tag"), ("/api/registrations?state=x", "state"),
                ("/api/registrations?cursor=junk", "cursor"),
            ] {
                let answer = try await api.call(.get, path)
                #expect(answer.status == 400, "\(path): \(answer.text)")
                #expect(answer.wrongMembers == [member], "\(path): \(answer.text)")
            }
            for (path, count) in [
                ("/api/jobs/\(id)/deliveries", 0),
                ("/api/jobs/\(id)/deliveries?outcome=retired-service&service=mpns", 0),
            ] {
                let answer = try await api.call(.get, path)
                #expect(answer.json["items"]?.elements.count == count)
            }
        }
    }

    @Test(arguments: ["x", "00000000-0000-7000-8000-000000000000", "%00", "..", "%2e%2e", "a%2Fb"])
    func anUnknownJobIs404(id: String) async throws {
        try await Harness.run { api async throws in
            #expect(try await api.call(.get, "/api/jobs/\(id)").status == 404)
            #expect(try await api.call(.delete, "/api/jobs/\(id)").status == 404)
        }
    }

    @Test func aSendIsStoppedOnce() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let answer = try await api.call(.post, "/api/sends", body: #"{"to":{"user":"bob"},"body":"x"}"#)
            let path = try #require(answer.headers[.location])
            let stopped = try await api.call(.delete, path)
            #expect([200, 202].contains(stopped.status))
            #expect(["cancelled", "cancelling"].contains(stopped.json["state"]?.text))
            if stopped.status == 200 { #expect(try await api.call(.delete, path).status == 409) }
        }
    }

    @Test func countsAddUp() throws {
        var counts = DeliveryCounts()
        counts.targets = 10
        counts.accepted = 6
        counts.failed = [.unregistered: 2]
        counts.expired = 1
        let job = Job(
            id: .make(),
            sequence: 1,
            app: .default,
            user: nil,
            key: "shop",
            priority: .normal,
            work: .send(SendRequest(audience: .tag(try Tag("a", .folded)), content: .message(.init(body: "x")))),
            state: .retrying,
            result: nil,
            reason: nil,
            accepted: .now,
            started: .now,
            finished: nil,
            expires: .now.advanced(by: .seconds(60)),
            due: .now,
            counts: [.apns: counts, .fcm: counts]
        )
        let text = try JSONReader.read(JobText(job: job, prefix: "/api/").bytes)
        #expect(text["totals"]?["targets"]?.number == 20)
        #expect(text["totals"]?["open"]?.number == 2)
        #expect(text["counts"]?["apns"]?["failed"]?["unregistered"]?.number == 2)
        #expect(text["progress"]?.number == 0.9)
        #expect(text["due"]?.text != nil)
        #expect(text["state"]?.text == "retrying")
    }

    private static func running(
        _ done: Int,
        progress: Job.Progress?,
        startedAgo: Duration = .seconds(10),
        state: Job.State = .running
    ) throws -> Job {
        var counts = DeliveryCounts()
        (counts.targets, counts.accepted) = (done, done)
        return Job(
            id: JobID(high: 1, low: 2),
            sequence: 1,
            app: .default,
            user: nil,
            key: "shop",
            priority: .normal,
            work: .send(SendRequest(audience: .tag(try Tag("a", .folded)), content: .message(.init(body: "x")))),
            state: state,
            result: nil,
            reason: nil,
            accepted: .now,
            started: .now.advanced(by: startedAgo * -1),
            finished: nil,
            expires: .now.advanced(by: .seconds(60)),
            due: nil,
            counts: [.apns: counts],
            progress: progress
        )
    }

    @Test func aRunningJobHasARateAndARemainingTime() throws {
        let progress = Job.Progress([.apns: Job.Progress.Service(devices: 400, estimate: 1000)])
        let running = JobText(job: try Self.running(250, progress: progress), prefix: "/api/", rates: [.apns: 50])
        let text = try JSONReader.read(running.bytes)
        #expect(text["progress"]?.number == 0.25)
        #expect(text["fannedOut"]?.number == 400)
        #expect(text["estimate"]?.number == 1000)
        #expect(text["rate"]?.number == 50)
        #expect(text["secondsLeft"]?.number == 15)
        // Too early to tell how many there will be: then nothing is said of it.
        let early = Job.Progress([.apns: Job.Progress.Service(devices: 400, estimate: nil)])
        let fanningOut = JobText(job: try Self.running(250, progress: early), prefix: "/api/", rates: [.apns: 50])
        let unknown = try JSONReader.read(fanningOut.bytes)
        #expect(unknown["progress"]?.number == 0)
        #expect(unknown["estimate"] == nil)
        #expect(unknown["secondsLeft"] == nil)
    }

    /// A service that is held to a rate takes as long as it takes, however fast the others are.
    @Test(
        arguments: [
            ([.apns: 100, .fcm: 2], 400), ([.apns: 5, .fcm: 2], 400), ([.apns: 0.5, .fcm: 2], 1500),
            ([.apns: 100, .fcm: 0], nil), ([.apns: 100], nil),
        ] as [([PushService: Double], Double?)]
    )
    func theRemainingTimeIsThatOfTheSlowestService(rates: [PushService: Double], seconds: Double?) throws {
        let progress = Job.Progress([
            .apns: Job.Progress.Service(devices: 400, estimate: 1000),
            .fcm: Job.Progress.Service(devices: 100, estimate: 800),
            // Done, and at no rate any more.
            .wns: Job.Progress.Service(devices: 0, estimate: 0),
        ])
        let job = try Self.running(250, progress: progress)
        let text = try JSONReader.read(JobText(job: job, prefix: "/api/", rates: rates).bytes)
        #expect(text["rate"]?.number == rates.values.reduce(0, +))
        #expect(text["secondsLeft"]?.number == seconds)
    }

    /// One that is over is whole; one that was stopped says how much of it was reached, as far as anybody knows.
    @Test(
        arguments: [
            (Job.State.running, 0.999, nil), (.completed, 1, nil), (.cancelled, 1, nil),
            (.running, 0.25, 1000), (.cancelling, 0.25, 1000), (.cancelled, 0.25, 1000), (.expired, 0.25, 1000),
        ] as [(Job.State, Double, Int?)]
    )
    func progressIsOneOnlyForAFinalJob(state: Job.State, share: Double, estimate: Int?) throws {
        let progress = estimate.map { Job.Progress([.apns: Job.Progress.Service(devices: 300, estimate: $0)]) }
        let job = try Self.running(250, progress: progress, state: state)
        let text = try JSONReader.read(JobText(job: job, prefix: "/api/").bytes)
        #expect(text["progress"]?.number == share)
        #expect(text["estimate"]?.number == estimate.map(Double.init))
        #expect(text["fannedOut"]?.number == progress.map { Double($0.devices) })
    }

    @Test func aJobThatWasStoppedBeforeItBeganReachedNobody() throws {
        let text = try JSONReader.read(
            JobText(job: try Self.running(0, progress: nil, state: .cancelled), prefix: "/api/").bytes
        )
        #expect(text["progress"]?.number == 0)
    }

    @Test func readsOfARunningJobAreCached() async throws {
        let reads = NIOLockedValueBox(0)
        let monitor = JobMonitor(broker: InMemoryBroker()) { _ in
            let count = reads.withLockedValue { count in
                count += 1
                return count
            }
            return [try Self.running(count * 1000, progress: nil)]
        }
        let id = JobID(high: 1, low: 2)
        let start = ContinuousClock.now
        // On the first look, the rate since its start: 1000 devices in 10 seconds.
        let first = try #require(try await monitor.snapshot(of: id, app: .default))
        #expect((50...101).contains(try #require(first.rates?[.apns])))
        var last = first
        while start.duration(to: .now) < .milliseconds(1100) {
            last = try #require(try await monitor.snapshot(of: id, app: .default))
            try await Task.sleep(for: .milliseconds(2))
        }
        let time = start.duration(to: .now).inSeconds
        #expect(Double(reads.withLockedValue { $0 }) <= time / 0.05 + 2)
        #expect(try #require(last.rates?[.apns]) <= 20_001)
        #expect(try #require(last.rates?[.apns]) > 0)
        // Another app does not see it, and after a change it is read again.
        let before = reads.withLockedValue { $0 }
        monitor.forget(id)
        _ = try await monitor.snapshot(of: id, app: .default)
        #expect(reads.withLockedValue { $0 } == before + 1)
    }
}
