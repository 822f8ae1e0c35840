// The snippets of Sources/LINBLE/LINBLE.docc/Framer.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Sources/LINBLE/LINBLE.docc/Framer.md
enum FramerPage {
    /// Example
    static func example() async throws {
        var framer = LengthPrefixFramer(width: .one)
        try framer.append([3, 1, 2])
        try framer.append([3, 2, 7, 8])
        while let packet = try framer.next() { print(packet) }
        print(try framer.encode([5, 6]))
    }
}
