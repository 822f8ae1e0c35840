// The snippets of Sources/LINBLE/LINBLE.docc/UARTServerOptions.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothAdvertising
import BluetoothGateway
import BluetoothLE
import BluetoothSimulation
import Glibc
import LINBLE
import LINBLESimulation
import Testing

/// Sources/LINBLE/LINBLE.docc/UARTServerOptions.md
enum UARTServerOptionsPage {
    /// Example
    static func example(_ adapter: Adapter) async throws {
        let options = UARTServerOptions(name: "Meter", profile: .nordic, isExclusive: true)
        try await UARTServer.run(on: adapter, options: options) { central in
            for try await bytes in central.received { try await central.send(bytes) }
        }
    }
}
