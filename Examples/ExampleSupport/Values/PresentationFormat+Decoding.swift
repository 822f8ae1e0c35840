import BluetoothLE
import BluetoothProfiles

extension PresentationFormat {
    /// The binary format of a number; nil for text, structures, and formats without whole bytes.
    private var number: NumberFormat? {
        switch format.rawValue {
        case 0x01...0x04: .u8
        // 12 bits are sent as 16.
        case 0x05, 0x06: .u16
        case 0x07: .u24
        case 0x08: .u32
        case 0x09: .integer(byteCount: 6, isSigned: false)
        case 0x0A: .u64
        case 0x0C: .i8
        case 0x0E: .i16
        case 0x0F: .i24
        case 0x10: .i32
        case 0x11: .integer(byteCount: 6, isSigned: true)
        case 0x12: .i64
        case 0x13: .integer(byteCount: 16, isSigned: true)
        case 0x14: .float32
        case 0x15: .float64
        case 0x16: .sfloat
        case 0x17: .medicalFloat
        default: nil
        }
    }

    /// The decoded value; nil if it does not have this format.
    func decode(_ value: [UInt8]) -> DecodedValue? {
        if let text = text(value) {
            return DecodedValue([.init(nil, "\"\(printable(text))\"", .string(text))], note: descriptionName)
        }
        guard let number, let decoded = number.decode(value) else { return nil }
        return DecodedValue([part(decoded)], note: descriptionName)
    }

    private func part(_ number: ScalarNumber) -> DecodedValue.Part {
        if format == .boolean, number == ScalarNumber(0) { return .init(nil, "false", .bool(false)) }
        if format == .boolean { return .init(nil, "true", .bool(true)) }
        // Only integers have an exponent.
        guard case .integer = self.number else { return .init(numbers: [number], unit: unitSymbol) }
        return .init(numbers: [NumberScale.ten(Int(exponent)).apply(number)], unit: unitSymbol)
    }

    /// The decoded value of an aggregate: one value of each format after another.
    static func decode(_ value: [UInt8], as formats: [PresentationFormat]) -> DecodedValue? {
        guard let first = formats.first else { return nil }
        if formats.count == 1 { return first.decode(value) }
        var rest = value[...]
        var parts: [DecodedValue.Part] = []
        for format in formats {
            guard let count = format.number?.byteCount, rest.count >= count,
                let decoded = format.decode(Array(rest.prefix(count)))
            else { return nil }
            parts += decoded.parts.map { part in
                var part = part
                part.name = format.descriptionName
                return part
            }
            rest = rest.dropFirst(count)
        }
        return rest.isEmpty ? DecodedValue(parts) : nil
    }
}

extension RemoteCharacteristic {
    /// The formats that the characteristic declares for its value, in the order of an aggregate.
    ///
    /// - Parameter value: the value of a descriptor; nil if it cannot be read.
    public func presentationFormats(
        _ value: (RemoteDescriptor) async throws -> [UInt8]?
    ) async throws -> [PresentationFormat] {
        let declarations = descriptors.filter { $0.uuid == .characteristicPresentationFormat }
        guard !declarations.isEmpty else { return [] }
        var formats: [AttributeHandle: PresentationFormat] = [:]
        for declaration in declarations {
            guard let bytes = try await value(declaration) else { continue }
            formats[declaration.handle] = DescriptorValue(bytes, of: declaration.uuid).presentationFormat
        }
        guard declarations.count > 1 else { return Array(formats.values) }
        // Without the order nothing says which of them counts.
        guard let aggregate = descriptors.first(where: { $0.uuid == .characteristicAggregateFormat }),
            let bytes = try await value(aggregate),
            let handles = DescriptorValue(bytes, of: aggregate.uuid).aggregateFormat
        else { return [] }
        let ordered = handles.compactMap { formats[$0] }
        return ordered.count == handles.count ? ordered : []
    }
}
