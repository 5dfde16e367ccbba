import NIOCore
import NIOPosix
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A connection whose client sends its request when it likes, and keeps what is answered.
final class SlowRequest: Sendable {
    private let channel: any Channel
    private let reader: Reader

    private init(channel: any Channel, reader: Reader) {
        self.channel = channel
        self.reader = reader
    }

    /// Connects, and sends the head of a request.
    static func open(_ head: String, port: Int) async throws -> SlowRequest {
        let reader = Reader()
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { $0.pipeline.addHandler(reader) }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(ByteBuffer(string: head))
        return SlowRequest(channel: channel, reader: reader)
    }

    /// Many of them.
    static func open(_ count: Int, _ head: String, port: Int) async throws -> [SlowRequest] {
        var requests: [SlowRequest] = []
        for _ in 0..<count { requests.append(try await self.open(head, port: port)) }
        return requests
    }

    /// - Returns: false when the server has closed the connection.
    func send(_ piece: ByteBuffer) async -> Bool {
        do { try await self.channel.writeAndFlush(piece) } catch { return false }
        return true
    }

    /// The status of the answer; nil as long as there is none.
    var status: Int? {
        let text = self.reader.text.withLock { $0 }
        return text.hasPrefix("HTTP/1.1 ") ? Int(text.dropFirst(9).prefix(3)) : nil
    }

    func close() { self.channel.close(promise: nil) }

    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let text = Mutex("")

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let piece = String(buffer: self.unwrapInboundIn(data))
            self.text.withLock { if $0.utf8.count < 4096 { $0 += piece } }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension SlowRequest {
    /// The head of a request of a user of the installation, without what says how long its body is.
    static func head(_ path: String, user: String, password: String, _ fields: String...) -> String {
        let login = Data("\(user):\(password)".utf8).base64EncodedString()
        let lines = ["POST \(path) HTTP/1.1", "Host: a", "Authorization: Basic \(login)"] + fields
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }
}
