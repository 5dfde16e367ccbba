import CZlib
import NIOCore

/// Inflates gzip (RFC 1952) of any number of members, piece by piece.
///
/// It keeps some 100 KiB, whatever comes in or out: what zlib needs, and a piece.
@safe final class GzipInflater {
    /// Why it cannot go on.
    enum Failure: Error {
        /// It is not gzip, or its checksum or length is another.
        case malformed
        /// It ends within a member, or before the first.
        case truncated
        case noMemory
    }

    /// The most bytes that come out at once.
    static let piece = 64 << 10

    /// In one place as long as it lives: zlib's own state points at it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var input = ByteBuffer()
    /// The piece that is being made: as large as one may be, and most are small.
    private var output = ByteBuffer()
    private var members = 0
    private var isInMember = false
    /// More may come out without anything going in.
    private var isFull = false

    init() throws(Failure) {
        unsafe self.stream = .allocate(capacity: 1)
        unsafe self.stream.initialize(to: z_stream())
        guard unsafe pushline_inflate_gzip(self.stream) == Z_OK else { throw .noMemory }
    }

    deinit {
        // Harmless where it was never begun.
        _ = unsafe inflateEnd(self.stream)
        unsafe self.stream.deallocate()
    }

    /// Takes the next bytes, where ``next()`` has said that it needs them.
    func take(_ bytes: ByteBuffer) { self.input = bytes }

    /// - Returns: The next bytes that come out; nil where more must be taken first.
    func next() throws(Failure) -> ByteBuffer? {
        guard self.input.readableBytes > 0 || self.isFull else { return nil }
        self.output.clear(minimumCapacity: Self.piece)
        repeat {
            if !self.isInMember { try self.begin() }
            try self.inflate()
        } while self.input.readableBytes > 0 && self.output.readableBytes < Self.piece
        self.isFull = self.isInMember && self.output.readableBytes == Self.piece
        return self.output.readableBytes > 0 ? ByteBuffer(buffer: self.output) : nil
    }

    /// Says that nothing more comes.
    func finish() throws(Failure) {
        guard self.members > 0, !self.isInMember else { throw .truncated }
    }

    private func begin() throws(Failure) {
        if self.members > 0, unsafe inflateReset(self.stream) != Z_OK { throw .malformed }
        self.members += 1
        self.isInMember = true
    }

    private func inflate() throws(Failure) {
        let room = Self.piece - self.output.readableBytes
        var status = Z_OK
        unsafe self.input.readWithUnsafeMutableReadableBytes { source in
            unsafe self.stream.pointee.next_in = source.baseAddress?.assumingMemoryBound(to: UInt8.self)
            unsafe self.stream.pointee.avail_in = UInt32(source.count)
            unsafe self.output.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
                unsafe self.stream.pointee.next_out = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe self.stream.pointee.avail_out = UInt32(room)
                status = unsafe CZlib.inflate(self.stream, Z_NO_FLUSH)
                return unsafe room - Int(self.stream.pointee.avail_out)
            }
            return unsafe source.count - Int(self.stream.pointee.avail_in)
        }
        switch status {
        // No progress: it needs more.
        case Z_OK, Z_BUF_ERROR: return
        case Z_STREAM_END: self.isInMember = false
        case Z_MEM_ERROR: throw .noMemory
        default: throw .malformed
        }
    }
}
