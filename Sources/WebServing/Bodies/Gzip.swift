import CZlib

/// Compresses what is sent often, or by a test's client.
package enum Gzip {
    /// One member of gzip, as small as it gets.
    package static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = unsafe z_stream()
        var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 1000 + 64)
        let count = output.count
        let status = unsafe bytes.withUnsafeBufferPointer { source in
            unsafe output.withUnsafeMutableBufferPointer { target in
                guard unsafe pushline_deflate_gzip(&stream) == Z_OK else { return Z_STREAM_ERROR }
                unsafe stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                unsafe stream.avail_in = UInt32(source.count)
                unsafe stream.next_out = target.baseAddress
                unsafe stream.avail_out = UInt32(count)
                defer { _ = unsafe deflateEnd(&stream) }
                return unsafe deflate(&stream, Z_FINISH)
            }
        }
        precondition(status == Z_STREAM_END, "zlib cannot compress: \(status)")
        return unsafe Array(output.prefix(count - Int(stream.avail_out)))
    }
}
