import Glibc

/// The rows of a table in `Tests/Vectors`: the words of each line, without comments. A dot is an empty word.
public func vectorTable(_ name: String) -> [[String]] {
    let path = #filePath.replacing("TestSupport/VectorTable.swift", with: "Vectors/\(name)")
    guard let file = fopen(path, "r") else { fatalError("no table \(path)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&block, 1, block.count, file), count > 0 { bytes += block[..<count] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
        line.split(separator: " ").map { $0 == "." ? "" : String($0) }
    }
}
