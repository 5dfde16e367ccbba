import PushModel
import Testing

@Suite struct NearestWordTests {
    @Test func nearestWord() {
        #expect(NearestWord.to(String(repeating: "k", count: 1_000_000), among: ["key_id"]) == nil)
        #expect(NearestWord.to("kei_file", among: ["key_id", "key_file"]) == "key_file")
        #expect(NearestWord.to("banana", among: ["key_id", "key_file"]) == nil)
        #expect(NearestWord.distance("", "abc") == 3)
        #expect(NearestWord.distance("kitten", "sitting") == 3)
        #expect(NearestWord.distance("prot", "port") == 1 && NearestWord.distance("ca", "abc") == 3)
    }
}
