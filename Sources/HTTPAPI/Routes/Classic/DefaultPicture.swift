import Store

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The default picture of rich notifications: a blue disc, 32 by 32.
enum DefaultPicture {
    static let content = StoredContent(
        owner: nil,
        mediaType: "image/png",
        bytes: Array(Data(base64Encoded: encoded, options: .ignoreUnknownCharacters) ?? Data())
    )

    private static let encoded = """
        iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAAA5ElEQVR42tWX0QYCURCG93F6vYiIiIiIiIiIiIiIiIiI2Leq726s
        XWd3z56Zsct388+c+f+rs3OyrG/fYJj/QuiYjhgeQRrzMcM6EG88YUBC2plPOaRAM/MZzYrUB5jTqEjYfEGTAdXmS4qGlAOsKBhS
        DrCmYEjRfIPogATYIjggAXYIDkiAPYIDEuCA4IAEOCI4IAFOCA5IgDOCA8W74IJoSPkmvFIwpBzgRsGQ6j/inaIB4Z3gQZMi9RvR
        k0ZFmu2FL5oVaLcZvzmUkPj3wYcBHUjzOvoyLAKdd2LO8AC9e23/AfQTHpT6+AbjAAAAAElFTkSuQmCC
        """
}
