import BluetoothLE
import ExampleSupport

/// The link's parameters, as far as they are known.
struct LinkState: Equatable, Sendable {
    let mtu: Int
    let parameters: ConnectionParameters?
    let phys: LinkPHYs?
    let dataLength: LinkDataLength?

    init(of connection: Connection) async throws {
        mtu = await connection.maximumTransmissionUnit
        parameters = await connection.parameters
        dataLength = await connection.dataLength
        do throws(BluetoothError) {
            phys = try await connection.phys()
        } catch {
            // A controller before Bluetooth 5 has only LE 1M; without CAP_NET_RAW the PHYs are unknown.
            guard [.unsupported, .notPermitted].contains(error.code) else { throw error }
            phys = nil
        }
    }
}

extension Console {
    /// Prints the parameters.
    func show(_ state: LinkState) {
        if isJSON {
            return result([
                ("event", .string("link")), ("mtu", .integer(state.mtu)),
                ("interval", milliseconds(state.parameters?.interval)),
                ("latency", JSONValue(state.parameters?.latency)),
                ("supervisionTimeout", milliseconds(state.parameters?.supervisionTimeout)),
                ("txPHY", JSONValue(state.phys.map { "\($0.transmit)" })),
                ("rxPHY", JSONValue(state.phys.map { "\($0.receive)" })),
                ("txOctets", JSONValue(state.dataLength?.transmitOctets)),
                ("rxOctets", JSONValue(state.dataLength?.receiveOctets)),
            ])
        }
        result("ATT_MTU      ", beside: "\(state.mtu) bytes")
        result("parameters   ", beside: "\(state.parameters.map { "\($0)" } ?? "unknown")")
        result("PHYs         ", beside: "\(state.phys.map { "\($0)" } ?? "unknown")")
        result("data length  ", beside: "\(state.dataLength.map { "\($0)" } ?? "unknown")")
    }
}
