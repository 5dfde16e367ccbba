import Foundation
import Logging
import Payloads
import PushModel
import PushServices
import PushlineSimulator

/// A simulator, an app whose pushes go to it, and its senders.
struct Senders {
    let simulator: Simulator
    let registry: SenderRegistry
    var spec: AppSpec

    static func with(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
        _ adjust: (inout SenderSettings) -> Void = { _ in },
        _ body: (Senders) async throws -> Void
    ) async throws {
        var settings = SenderSettings()
        adjust(&settings)
        try await withSimulator(configuration) { [settings] simulator in
            let senders = try Senders(simulator, settings: settings)
            let result: Result<Void, any Error>
            do { result = .success(try await body(senders)) } catch { result = .failure(error) }
            await senders.registry.close()
            try result.get()
        }
    }

    init(_ simulator: Simulator, settings: SenderSettings = SenderSettings()) throws {
        self.simulator = simulator
        self.spec = try simulator.appSpec
        self.registry = SenderRegistry(
            settings: settings,
            logger: .quiet
        )
    }

    func sender(_ pns: PushService) throws -> any PushSender {
        try self.registry.sender(app: .default, pns: pns, spec: self.spec)
    }

    /// The simulator's APNs key, or another file, or another id.
    func token(keyFile: String? = nil, keyID: String? = nil) throws -> AppSpec.APNs.Authentication {
        let credentials = try self.simulator.credentials
        return .token(
            .init(
                keyFile: keyFile ?? credentials.apnsKeyFile,
                keyID: keyID ?? credentials.apnsKeyID,
                teamID: credentials.apnsTeamID
            )
        )
    }

    /// The address of a device in the simulator.
    func handle(_ pns: PushService, _ number: Int) throws -> String {
        try self.simulator.device("\(number)", of: pns)
    }

    func batch(
        _ pns: PushService,
        _ count: Int,
        from first: Int = 0,
        time: Duration = .seconds(60),
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) throws -> PushRequest {
        try self.batch(
            pns,
            handles: (0..<count).map { try self.handle(pns, first + $0) },
            time: time,
            isStopped: isStopped
        )
    }

    func batch(
        _ pns: PushService,
        handles: [String],
        time: Duration = .seconds(60),
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) throws -> PushRequest {
        var devices = DeliverBatch.Devices()
        devices.rows = handles.indices.map { Int64($0 + 1) }
        devices.handles = HandleList(handles.map(Handle.init(stored:)))
        return PushRequest(
            payload: try PayloadFormatter.format(.classic(sender: "test", text: "hello"), for: pns),
            job: JobID(high: 0x0123_4567_89AB_7DEF, low: 0x8123_4567_89AB_CDEF),
            devices: devices,
            deadline: .now + time,
            isStopped: isStopped
        )
    }
}

extension Logger {
    /// Says nothing.
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
