@testable import BluetoothGATT
@testable import BluetoothHost
import BluetoothLE
import BluetoothPrimitives
@testable import BluetoothProfiles

/// The values of attributes, and the messages in them.
let valueDecoders: [FuzzTarget] = [
    FuzzTarget(name: "descriptor") { input in
        var source = ByteSource(input)
        let uuid = BluetoothUUID(0x2900 + UInt16(source.byte() % 0x11))
        let bytes = source.rest()
        let value = DescriptorValue(bytes, of: uuid)
        _ = value.description
        if let format = value.presentationFormat {
            let again = DescriptorValue(format.bytes, of: uuid).presentationFormat
            require(again == format, "\(format) became \(again as Any)")
            let content = Array(bytes.dropFirst(7))
            _ = (format.number(content), format.text(content), "\(format)")
        }
        _ = DatabaseHash(bytes)
        guard let wished = try? ConnectionParameterRequest(preferred: bytes, operation) else { return }
        require((try? wished.parameters(operation)) != nil, "\(wished) is invalid")
    },
    FuzzTarget(name: "characteristic-value") { input in
        var source = ByteSource(input)
        let number = source.uint16()
        let bytes = source.rest()
        let other = characteristics[uuids[Int(number) % uuids.count]]
        for characteristic in characteristics[BluetoothUUID(number)] ?? other ?? [] { characteristic.check(bytes) }
    },
    FuzzTarget(name: "keyboard-report") { input in
        var (source, text) = (ByteSource(input), KeyboardText())
        while !source.isEmpty {
            guard let report = try? KeyboardReport(source.bytes(atMost: 9)) else { continue }
            _ = text.type(report)
            require((try? KeyboardReport(report.bytes)) == report, "\(report) changed")
        }
    },
    FuzzTarget(name: "cbor") { input in
        guard let item = try? CBOR(decoding: Array(input)) else { return }
        let encoded = item.encoded
        guard let again = try? CBOR(decoding: encoded) else { return fault("\(item) is not decoded") }
        require(again.encoded == encoded, "\(item) became \(again)")
        check(item)
    },
    FuzzTarget(name: "smp") { input in
        var source = ByteSource(input)
        var assembler = SMPAssembler(limit: 16 + Int(source.byte()))
        while !source.isEmpty {
            assembler.append(source.bytes(atMost: 64))
            while true {
                do throws(MalformedValue) {
                    guard let frame = try assembler.next() else { break }
                    check(frame)
                } catch {
                    continue
                }
            }
        }
    },
    FuzzTarget(name: "firmware-image") { input in
        guard let image = try? FirmwareImage(Array(input)) else { return }
        require(!image.hash.isEmpty || !image.version.isEmpty, "\(image) has no name")
    },
]

private func check(_ frame: SMPAssembler.Frame) {
    guard let body = try? CBOR(decoding: frame.body) else { return }
    check(body)
    guard case .map(let map) = body else { return }
    var header = frame.header
    let message = header.message(map)
    header.bodyLength = message.count - SMPHeader.length
    require(SMPHeader(message) == header, "\(header) became \(SMPHeader(message) as Any)")
}

private func check(_ item: CBOR) {
    guard let slots = try? FirmwareSlot.list(item), slots.allSatisfy({ $0.image >= 0 && $0.slot >= 0 }) else { return }
    let again = try? FirmwareSlot.list(.map(["images": .array(slots.map(\.item))]))
    require(again == slots, "\(slots) became \(again as Any)")
}

// MARK: Characteristics with a type

private protocol CheckedValue: Sendable {
    var uuid: BluetoothUUID { get }
    func check(_ bytes: [UInt8])
}

extension Characteristic: CheckedValue {
    fileprivate func check(_ bytes: [UInt8]) {
        _ = describe(bytes)
        guard let value = try? codec.decode(bytes) else { return }
        let encoded: [UInt8]
        do throws(MalformedValue) {
            encoded = try codec.encode(value)
        } catch {
            // A device's value that is odd is read, such as the year 7, and not written.
            return
        }
        guard let again = try? codec.decode(encoded) else { return fault("\(uuid): \(encoded) is not decoded") }
        // A mantissa that stands for no number with the exponent 0 is written with no other exponent, but rounded.
        let isSame = (again as? any Equatable)?.equals(value) ?? false || "\(again)" == "\(value)"
        require(isSame || mayRound.contains(uuid), "\(uuid): \(value) of \(bytes) became \(again)")
        require((try? codec.encode(again)) == encoded, "\(uuid): \(again) is not \(encoded)")
    }
}

extension Equatable {
    fileprivate func equals(_ other: Any) -> Bool { other as? Self == self }
}

private let uuids = characteristics.keys.sorted { $0.description < $1.description }

private let characteristics: [BluetoothUUID: [any CheckedValue]] = {
    let controlPoints: [any CheckedValue] = [
        Characteristic.cyclingControlPoint, Characteristic.runningControlPoint, Characteristic.cyclingPowerControlPoint,
        Characteristic.recordAccessControlPoint, Characteristic.cyclingPowerSensorLocation,
        Characteristic.runningSensorLocation,
    ]
    let all = TypedCharacteristics.all.values.compactMap { $0 as? any CheckedValue } + controlPoints
    return Dictionary(grouping: all, by: \.uuid)
}()

/// Characteristics with medical floating-point numbers.
private let mayRound: Set<BluetoothUUID> = {
    let numbers: [UInt16] = [0x2A18, 0x2A1C, 0x2A1E, 0x2A34, 0x2A35, 0x2A36, 0x2A5E, 0x2A5F]
    return Set((numbers + (0x2BCF...0x2BD9)).map { BluetoothUUID($0) })
}()

private let operation = BluetoothError.Operation("fuzz")
