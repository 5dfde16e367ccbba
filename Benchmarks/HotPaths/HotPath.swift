/// Something that is done for every device or for every batch of them, made to be done over and over.
package struct HotPath: Sendable {
    /// Also the name of its threshold.
    package let name: String
    /// For how many devices it is done at a time.
    package let devices: Int
    /// Does it so many times; the result depends on all of them, so that none is left out.
    package let run: @Sendable (_ times: Int) -> Int

    package static let all: [HotPath] = [
        .batchEncoding, .batchDecoding, .requestHeads, .answersOfAPNs, .answersOfFCM, .tagExpressions,
    ]
}
