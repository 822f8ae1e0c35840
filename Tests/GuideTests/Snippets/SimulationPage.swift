// The snippets of Docs/Guide/Simulation.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

/// Docs/Guide/Simulation.md
enum SimulationPage {
    /// The radio between them
    static func theRadioBetweenThem(_ adapter: Adapter, _ radio: SimulatedRadio, _ thermometer: SimulatedPeripheral) async throws {
        radio.conditions.packetLoss = 0.2
        radio.conditions.jitter = .milliseconds(20)
        radio.setInRange(false, adapter.information.address, thermometer.address)
        try await radio.sleep(for: .seconds(60))
        radio.setInRange(true, adapter.information.address, thermometer.address)
    }

    /// A device
    static func aDevice(_ thermometer: SimulatedPeripheral) async throws {
        thermometer.setSignalStrength(-90)                              // far away
        thermometer.setRefusal(.connectionFailedToBeEstablished)        // every link ends as soon as it is up
        thermometer.setParameterRefusal(.unsupportedRemoteFeature)      // it keeps its connection parameters
        thermometer.breakLinks()                                        // out of reach at once
        thermometer.setHidden(true)                                     // out of reach until it is back
    }

    /// What it advertises
    static func whatItAdvertises(_ thermometer: SimulatedPeripheral) async throws {
        thermometer.setAdvertisements(
            SimulatedAdvertisement.malformed.map { SimulatedAdvertisement(data: $0.data) } + [
                SimulatedAdvertisement(data: [UInt8](repeating: 0, count: 200), isLegacy: false, receivedByteLimit: 100)
            ])
    }

    /// Its attributes
    static func itsAttributes(_ radio: SimulatedRadio) async throws {
        let server = try SimulatedGATTServer([
            GATTService(.battery) {
                GATTCharacteristic(.batteryLevel, properties: [.read, .write, .notify], valueLengths: 1...1)
            }
        ])
        server.onRead { _, _ in .refuse(.insufficientResources) }
        server.onWrite { writes, link in
            if writes.last?.value == [0] { link.disconnect(reason: .remoteDevicePoweringOff) }
            return writes.last?.value == [1] ? .silence : .accept
        }
        if let level = server.handle(of: .batteryLevel, in: .battery) {
            server.onSubscription { handle, _, _ in if handle == level { server.notifyAtOnce([96], of: level) } }
        }
        SimulatedPeripheral(on: radio, gatt: server)
    }

    /// Pairing
    static func pairing(_ thermometer: SimulatedPeripheral) async throws {
        var security = SimulatedSecurity(ioCapability: .keyboardOnly, requiresProtection: true)
        security.user = .mistypes
        thermometer.setSecurity(security)
        thermometer.requestSecurity(.medium)
        thermometer.forgetBonds()
    }

    /// A protocol of your own
    static func aProtocolOfYourOwn(_ radio: SimulatedRadio) async throws {
        final class Nonsense: SimulatedLinkHandler {
            func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
                link.send([], on: channel)
            }
        }
        SimulatedPeripheral(on: radio) { _ in Nonsense() }
    }

    /// A UART module
    static func aUARTModule(_ radio: SimulatedRadio) async throws {
        let module = SimulatedLINBLE(
            on: radio, .init(attached: .silent, splitsAtRandom: true, receiveMTU: 23, bufferCapacity: 256, requiresEncryption: true))
        module.peripheral.breakLinks()
        print(module.statistics.bytesLost)
    }

    /// An adapter
    static func anAdapter(_ radio: SimulatedRadio, _ kernel: SimulatedKernel) async throws {
        kernel.setFault(ControllerFault(.hearsNothing, until: .powerOff), adapter: 0)
        try await radio.sleep(for: .seconds(5))
        kernel.setFault(nil, adapter: 0)
        kernel.setRadioSwitch(adapter: 0, isSoftBlocked: true)
        kernel.unplug(0)
        kernel.plug(SimulatedController(family: .legacy))
    }

    /// The machine
    static func theMachine(_ kernel: SimulatedKernel) async throws {
        kernel.hasNetRaw = false
        kernel.setRefusal(.busy, of: .startDiscovery)
        kernel.setSilent(true, for: .setPowered)
    }
}
