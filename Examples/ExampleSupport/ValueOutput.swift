import ArgumentParser
import BluetoothLE

extension ValueFormat {
    /// The `--help` text of `--format`.
    public static let help = ArgumentHelp(
        "The format of values: \(names.joined(separator: ", ")). Numbers are little-endian, or big-endian with the suffix be "
            + "(u16be); a value may contain several.",
        valueName: "format")

    /// Parses a command-line argument.
    /// - Throws: `ValidationError`, which names the accepted forms.
    public static func parse(_ text: String) throws -> ValueFormat {
        guard let format = ValueFormat(text) else {
            throw ValidationError(
                "give \(names.dropLast().joined(separator: ", ")) or \(names.last ?? ""), numbers of several bytes also "
                    + "with the suffix be for big endian, such as u16be."
                    + Suggestion.question(for: text, among: names + names.map { $0 + "be" }))
        }
        return format
    }
}

extension ValueDecoder {
    /// The value in the form that the user named; nil without one, and for raw bytes.
    func formatted(_ value: [UInt8]) throws(ValueFormatError) -> String? {
        switch format?.kind {
        case nil, .raw: return nil
        case .hex: return value.hexadecimal
        case .text:
            guard let text = ValueText.text(value) ?? (value.isEmpty ? "" : nil) else {
                throw ValueFormatError("\(value.hexadecimal) is not UTF-8")
            }
            return text
        case .number: return try format?.numbers(value).map(\.text).joined(separator: " ")
        }
    }
}

extension Connection {
    /// The decoder for an attribute's values. Without a format of the user, reads what the characteristic declares.
    public func decoder(
        for attribute: ChosenAttribute, format: ValueFormat?, timeout: Duration?
    ) async throws -> ValueDecoder {
        var decoder = ValueDecoder(of: attribute.uuid, in: attribute.owner?.uuid, format: format)
        // A Valid Range has the format of its characteristic.
        let ranged = attribute.uuid == .validRange ? attribute.owner : nil
        guard format == nil, let characteristic = attribute.characteristic ?? ranged else { return decoder }
        decoder.declared = try await characteristic.presentationFormats { descriptor in
            do throws(BluetoothError) {
                return try await read(descriptor, timeout: timeout)
            } catch {
                // A device may refuse it: the value is shown without it.
                guard error.cause?.attributeErrorCode != nil else { throw error }
                return nil
            }
        }
        return decoder
    }
}

extension Console {
    /// Writes a value that was read or received as a result.
    ///
    /// - Parameters:
    ///   - fields: the first JSON fields.
    ///   - prefix: the text before the value in its own form.
    /// - Throws: ``ProgramError``: ``ExitStatus/badData`` if the value does not have the form that the user named.
    public func show(
        _ value: [UInt8], of attribute: ChosenAttribute, _ decoder: ValueDecoder, fields: [(String, JSONValue)],
        prefix: String = ""
    ) throws {
        let text: String?
        do throws(ValueFormatError) {
            text = try decoder.formatted(value)
        } catch {
            throw ProgramError(
                .badData,
                "The value of \(attribute.title) is not \(decoder.format?.name ?? ""): \(error).",
                remedy: "Choose another --format, such as hex, or none.")
        }
        if isJSON {
            result(fields + decoder.jsonFields(value))
        } else if decoder.format?.kind == .raw {
            result(value)
        } else if let text {
            // Unbroken, so that it can be copied.
            result(Array((prefix + text + "\n").utf8))
        } else {
            result((prefix.isEmpty ? "\(attribute.title)  " : prefix) + decoder.describe(value, limit: nil))
        }
    }
}
