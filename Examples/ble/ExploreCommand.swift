import ArgumentParser
import BluetoothLE
import ExampleSupport
import Synchronization

struct ExploreCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore", abstract: "Show a device's services, characteristics, descriptors and values.",
        discussion: """
            Each line has the UUID and name of an attribute, its handle, its properties, and its value if it is readable. \
            Invalid declarations are listed at the end as problems. \(AdapterOptions.several)

            With --json: one line for the device and each service, include, characteristic, descriptor and problem.

            EXAMPLES:
              ble explore -n Pulse-Z1
              ble explore -a C0:98:E5:12:34:58 --no-values --json
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup(title: "Link") var link: LinkOptions

    @Flag(inversion: .prefixedNo, help: "Read the values.")
    var values = true

    @Flag(help: "Show long values in full.")
    var full = false

    @Flag(help: "Pair first, which some values require; without it, the command neither pairs nor asks to.")
    var pair = false

    static let isOnLoop = true
    var isPairing: Bool { pair }

    mutating func prepare() async throws { common.asksToPair = false }

    func perform(on connection: Connection, _ console: Console) async throws {
        if pair {
            let limit = common.timeout(or: .seconds(60))
            _ = try await connection.pair(to: common.requiredLevel ?? .medium, timeout: limit)
        }
        let timeout = common.timeout(or: .seconds(30))
        let services = try await connection.discover(timeout: timeout)
        let reading = Reading(connection, isOn: values, timeout: timeout)
        if console.isJSON {
            try await list(services, of: connection, reading, console)
        } else {
            try await draw(services, of: connection, reading, full ? nil : 24, console)
        }
    }
}

/// Reads values unless --no-values is given; a refusal is a result.
private final class Reading: Sendable {
    enum Outcome: Sendable {
        case value([UInt8])
        case refused(ATTErrorCode)
    }

    private let connection: Connection
    private let isOn: Bool
    private let timeout: Duration
    /// The descriptors that were read before their turn, for the formats that they declare.
    private let early = Mutex<[AttributeHandle: Outcome?]>([:])

    init(_ connection: Connection, isOn: Bool, timeout: Duration) {
        self.connection = connection
        self.isOn = isOn
        self.timeout = timeout
    }

    func value(of handle: AttributeHandle) async throws -> Outcome? {
        guard isOn else { return nil }
        if let known = early.withLock({ $0[handle] }) { return known }
        do throws(BluetoothError) {
            return .value(try await connection.read(handle, timeout: timeout))
        } catch {
            guard let code = error.cause?.attributeErrorCode else { throw error }
            return .refused(code)
        }
    }

    /// The decoder for a characteristic's value, or for a descriptor of it, with the formats that it declares.
    func decoder(
        for characteristic: RemoteCharacteristic, descriptor uuid: BluetoothUUID? = nil
    ) async throws -> ValueDecoder {
        if let uuid, uuid != .validRange { return ValueDecoder(of: uuid) }
        let declared = try await characteristic.presentationFormats { descriptor in
            let outcome = try await value(of: descriptor.handle)
            early.withLock { $0[descriptor.handle] = outcome }
            if case .value(let value) = outcome { return value }
            return nil
        }
        return ValueDecoder(of: uuid ?? characteristic.uuid, in: characteristic.uuid, declared: declared)
    }
}

extension Reading.Outcome {
    fileprivate func text(_ decoder: ValueDecoder, limit: Int?) -> String {
        switch self {
        case .value(let value): "= " + decoder.describe(value, limit: limit)
        case .refused(.insufficientAuthentication), .refused(.insufficientEncryption): "(requires pairing: --pair)"
        case .refused(let code): "(refused: \(code))"
        }
    }
}

/// A line of the tree, and the attribute whose value is appended to it.
private struct Line: Sendable {
    var text: String
    var attribute: (uuid: BluetoothUUID, handle: AttributeHandle)?
    /// The characteristic whose value or descriptor it is.
    var characteristic: RemoteCharacteristic?
    var isDescriptor = false
}

/// Draws the database as a tree, line by line as the values are read.
private func draw(
    _ database: RemoteDatabase, of connection: Connection, _ reading: Reading, _ limit: Int?, _ console: Console
) async throws {
    let mtu = await connection.maximumTransmissionUnit
    let style = console.output
    var device = Tree(Line(text: "\(style.bold(connection.peer.digits)) \(connection.peer.kind), ATT_MTU \(mtu)"))
    for service in database { device.add(picture(of: service, style)) }
    for problem in database.problems { device.add(Tree(Line(text: "\(style.yellow("problem:")) \(problem)"))) }
    for (branches, line) in device.rows {
        var text = branches + line.text
        if let (uuid, handle) = line.attribute, let outcome = try await reading.value(of: handle) {
            var decoder = ValueDecoder(of: uuid)
            if let characteristic = line.characteristic {
                decoder = try await reading.decoder(for: characteristic, descriptor: line.isDescriptor ? uuid : nil)
            }
            text += "  " + outcome.text(decoder, limit: limit)
        }
        console.result(text)
    }
}

private func picture(of service: RemoteService, _ style: Style) -> Tree<Line> {
    func range(_ handles: AttributeHandleRange) -> String { "\(handles.start)–\(handles.end)" }
    let kind = service.isPrimary ? "service" : "secondary service"
    var branch = Tree(Line(text: "\(kind) \(style.cyan(name(of: service.uuid)))  \(range(service.handles))"))
    for included in service.includedServices {
        branch.add(Tree(Line(text: "includes \(name(of: included.uuid))  \(range(included.handles))")))
    }
    for characteristic in service.characteristics {
        let handle = characteristic.valueHandle
        let isReadable = characteristic.properties.contains(.read)
        branch.add(
            Tree(
                Line(
                    text: "\(style.bold(name(of: characteristic.uuid)))  \(handle)  \(characteristic.properties)",
                    attribute: isReadable ? (characteristic.uuid, handle) : nil, characteristic: characteristic),
                characteristic.descriptors.map { descriptor in
                    Tree(
                        Line(
                            text: "\(style.dim(name(of: descriptor.uuid)))  \(descriptor.handle)",
                            attribute: (descriptor.uuid, descriptor.handle), characteristic: characteristic,
                            isDescriptor: true))
                }))
    }
    return branch
}

private func name(of uuid: BluetoothUUID) -> String {
    uuid.knownName.map { "\(uuid) \($0)" } ?? "\(uuid)"
}

private func list(
    _ database: RemoteDatabase, of connection: Connection, _ reading: Reading, _ console: Console
) async throws {
    console.result([
        ("event", .string("device")), ("address", .string(connection.peer.digits)),
        ("addressType", .string("\(connection.peer.kind)")),
        ("mtu", .integer(await connection.maximumTransmissionUnit)),
    ])
    for service in database {
        console.result([
            ("event", .string("service")), ("uuid", .string("\(service.uuid)")),
            ("name", JSONValue(service.uuid.knownName)), ("primary", .bool(service.isPrimary)),
            ("handle", .integer(Int(service.handles.start.rawValue))),
            ("end", .integer(Int(service.handles.end.rawValue))),
        ])
        for included in service.includedServices {
            console.result([
                ("event", .string("include")), ("service", .string("\(service.uuid)")),
                ("uuid", .string("\(included.uuid)")), ("name", JSONValue(included.uuid.knownName)),
                ("handle", .integer(Int(included.handles.start.rawValue))),
                ("end", .integer(Int(included.handles.end.rawValue))),
            ])
        }
        for characteristic in service.characteristics {
            let isReadable = characteristic.properties.contains(.read)
            let value = isReadable ? try await reading.value(of: characteristic.valueHandle) : nil
            console.result(
                [
                    ("event", .string("characteristic")), ("service", .string("\(service.uuid)")),
                    ("uuid", .string("\(characteristic.uuid)")), ("name", JSONValue(characteristic.uuid.knownName)),
                    ("handle", .integer(Int(characteristic.valueHandle.rawValue))),
                    ("properties", .array(characteristic.properties.names.map { .string($0) })),
                ] + fields(value, value == nil ? ValueDecoder(of: nil) : try await reading.decoder(for: characteristic))
            )
            for descriptor in characteristic.descriptors {
                let value = try await reading.value(of: descriptor.handle)
                console.result(
                    [
                        ("event", .string("descriptor")), ("characteristic", .string("\(characteristic.uuid)")),
                        ("uuid", .string("\(descriptor.uuid)")), ("name", JSONValue(descriptor.uuid.knownName)),
                        ("handle", .integer(Int(descriptor.handle.rawValue))),
                    ] + fields(value, try await reading.decoder(for: characteristic, descriptor: descriptor.uuid)))
            }
        }
    }
    for problem in database.problems { console.result([("event", .string("problem"))] + problem.jsonFields) }
}

private func fields(_ outcome: Reading.Outcome?, _ decoder: ValueDecoder) -> [(String, JSONValue)] {
    switch outcome {
    case nil: []
    case .value(let value): decoder.jsonFields(value)
    case .refused(let code): [("error", .string("\(code)"))]
    }
}
