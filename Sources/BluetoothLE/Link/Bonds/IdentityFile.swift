import BluetoothPrimitives
import BluetoothSystem

/// A file of devices known by their identity resolving keys: a line for each device.
///
/// ```
/// # name            key                                 identity address
/// phone             irk:a9c2f4d1…                       C0:98:E5:12:34:56 random
/// "Anna's watch"    T0TrrfzmQIH4iSiLPsOQSw==
/// ```
///
/// A line has the name, in quotation marks if it contains spaces, the key in one of the forms of
/// ``DeviceIdentity/init(name:exportedKey:address:)`` without spaces, and, if it is known, the identity address, with
/// `public` or `random` after it; without that, it is public. Empty lines and lines that begin with `#` are skipped.
public enum IdentityFile {
    /// The maximum number of devices.
    package static let maximumCount = 10_000
    /// The maximum size of a file in bytes.
    static let maximumLength = 4 << 20

    /// Reads a file. Only this user may have access to it, since anyone who has the keys can track the devices.
    /// - Throws: `.notFound` when there is no such file, `.notPermitted` when other users have access to it or it is a
    ///   symbolic link, `.storageFailed` when it cannot be read, `.invalidArgument` with the line when its content is no
    ///   such list.
    public nonisolated(nonsending) static func read(_ path: String) async throws(BluetoothError) -> [DeviceIdentity] {
        try await offLoop { () throws(BluetoothError) in
            let bytes: [UInt8]
            do throws(SecretFile.Failure) {
                bytes = try SecretFile.read(path, limit: maximumLength)
            } catch {
                throw .unusable(.file, path, error, operation)
            }
            return try parse(bytes, path)
        }
    }

    private static let operation = BluetoothError.Operation("read the identity resolving keys")

    /// Parses the content of a file.
    static func parse(_ bytes: [UInt8], _ path: String) throws(BluetoothError) -> [DeviceIdentity] {
        // Some editors begin a text with a byte order mark.
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        guard let text = String(validating: content, as: UTF8.self) else {
            throw .invalidArgument(operation, "\(path) is not UTF-8 text.")
        }
        var identities: [DeviceIdentity] = []
        // The lines of names and keys. A key in both orders is the same device.
        var names: [String: Int] = [:]
        var keys: [SecurityKey: Int] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let number = index + 1
            do throws(ExportedKey.Problem) {
                guard let identity = try Self.identity(in: line) else { continue }
                guard identities.count < maximumCount else {
                    throw ExportedKey.Problem("there are more than \(maximumCount) devices")
                }
                if let other = names.updateValue(number, forKey: identity.name) {
                    throw ExportedKey.Problem("this name is also in line \(other)")
                }
                for key in identity.candidates {
                    if let other = keys.updateValue(number, forKey: key) {
                        throw ExportedKey.Problem("this key is also in line \(other)")
                    }
                }
                identities.append(identity)
            } catch {
                throw .invalidArgument(operation, "\(path), line \(number): \(error).")
            }
        }
        guard !identities.isEmpty else { throw .invalidArgument(operation, "\(path) has no device.") }
        return identities
    }

    /// The device of a line; nil for a comment or an empty line.
    private static func identity(in line: Substring) throws(ExportedKey.Problem) -> DeviceIdentity? {
        var rest = line.drop(while: isSpace)
        guard let first = rest.first, first != "#" else { return nil }
        let name = try name(from: &rest)
        guard !name.isEmpty else { throw ExportedKey.Problem("the name is empty") }
        guard name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }) else {
            throw ExportedKey.Problem("the name contains a control character")
        }
        let fields = rest.split(whereSeparator: isSpace)
        guard let key = fields.first else { throw ExportedKey.Problem("the key is missing after the name") }
        guard fields.count <= 3 else { throw ExportedKey.Problem("there is extra text after the address") }
        var address: BluetoothAddress?
        if fields.count > 1 { address = try self.address(fields[1], fields.count > 2 ? fields[2] : nil) }
        do throws(ExportedKey.Problem) {
            var identity = DeviceIdentity(name: name, key: try ExportedKey.parse(key), address: address)
            identity.mayBeReversed = true
            return identity
        } catch {
            throw ExportedKey.Problem("the key \(error)")
        }
    }

    private static func name(from rest: inout Substring) throws(ExportedKey.Problem) -> String {
        guard rest.first == "\"" else {
            let name = rest.prefix { !isSpace($0) }
            rest = rest.dropFirst(name.count)
            return String(name)
        }
        let inner = rest.dropFirst()
        guard let end = inner.firstIndex(of: "\"") else {
            throw ExportedKey.Problem("the quotation mark before the name is not closed")
        }
        rest = inner[inner.index(after: end)...]
        guard rest.first.map(isSpace) ?? true else {
            throw ExportedKey.Problem("there must be a space after the quotation mark")
        }
        return String(inner[..<end])
    }

    private static func address(_ text: Substring, _ kind: Substring?) throws(ExportedKey.Problem) -> BluetoothAddress {
        let address: BluetoothAddress? =
            switch kind {
            case nil, "public": BluetoothAddress(String(text), kind: .public)
            case "random": BluetoothAddress(String(text), kind: .random)
            default: throw ExportedKey.Problem("the address must be followed by public or random")
            }
        guard let address else {
            throw ExportedKey.Problem("the text after the key is not an address such as C0:98:E5:12:34:56")
        }
        guard address.isIdentity else { throw ExportedKey.Problem("a private address does not identify a device") }
        return address
    }

    private static func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
}
