import BluetoothLE
import BluetoothSimulation
import LINBLE
import LINBLESimulation
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct UARTOpeningTests {
    /// The names of the reported steps.
    private final class Steps: Sendable {
        private let names = Mutex<[String]>([])

        var all: [String] { names.withLock { $0 } }

        func take(_ progress: UARTProgress) {
            let name =
                switch progress.kind {
                case .scanning: "scanning"
                case .found: "found"
                case .connecting(_, let attempt): "connecting \(attempt)"
                case .connected(_, let mtu): "connected \(mtu)"
                case .discovered(let profile): "discovered \(profile.name)"
                case .online(let length): "online \(length)"
                case .startingOver(let error): "starting over \(error.code)"
                }
            names.withLock { $0.append(name) }
        }
    }

    private func anyKind(_ fixture: Fixture) -> UARTDevice {
        .addressOfAnyKind(BluetoothAddress(fixture.linble.address.value, kind: .public))
    }

    @Test func theStepsAreToldInOrder() async throws {
        try await Fixture.run { fixture in
            let steps = Steps()
            _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter) { steps.take($0) }
            #expect(
                steps.all == ["scanning", "found", "connecting 1", "connected 247", "discovered LINBLE", "online 244"])
        }
    }

    @Test func aDeviceIsFoundByWhateverIsKnownOfIt() async throws {
        for device in [UARTDevice.name("LINBLE-Z1"), .advertisedService, .any([.name("?"), .name("LINBLE-Z1")])] {
            try await Fixture.run { fixture in
                let uart = try await UARTConnection.open(device, on: fixture.adapter)
                #expect(uart.peer == fixture.linble.address)
            }
        }
        try await Fixture.run { fixture in
            let uart = try await UARTConnection.open(anyKind(fixture), on: fixture.adapter)
            #expect(uart.peer == fixture.linble.address)
        }
    }

    /// MTU, service, characteristics, the question for the configuration, and its write.
    @Test func itOpensWithTenPackets() async throws {
        let radio = SimulatedRadio(time: .virtual, seed: 1)
        let linble = SimulatedLINBLE(on: radio, .init())
        let kernel = FaultingKernel(radio.makeKernel(adapters: [.fresh]))
        try await radio.run(limit: .seconds(600)) {
            let adapter = try await Adapter.open(power: .powerOn, on: kernel)
            let connection = try await adapter.connect(to: linble.address)
            #expect(kernel.count == 2)
            let time = try await radio.duration { _ = try await UARTConnection.attach(to: connection) }
            #expect(kernel.count == 10)
            #expect(time <= .milliseconds(240))
            await connection.disconnect()
        }
    }

    @Test func anAddressWithItsKindNeedsNoScan() async throws {
        try await Fixture.run { fixture in
            let steps = Steps()
            _ = try await UARTConnection.open(.address(fixture.linble.address), on: fixture.adapter) { steps.take($0) }
            #expect(steps.all.first == "connecting 1")
        }
    }

    @Test func aDeviceThatDoesNotAdvertiseTheServiceIsFoundByName() async throws {
        try await Fixture.run(.init(advertisesService: false)) { fixture in
            let options = UARTOptions(scanTimeout: .seconds(2))
            let code = await failureCode {
                _ = try await UARTConnection.open(.advertisedService, on: fixture.adapter, options: options)
            }
            #expect(code == .notFound)
            _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter, options: options)
        }
    }

    @Test func whoIsNotThereIsNotFoundInTimeAndNotTriedAgain() async throws {
        try await Fixture.run { fixture in
            let steps = Steps()
            let time = await fixture.duration {
                let code = await failureCode {
                    _ = try await UARTConnection.open(.name("NOBODY"), on: fixture.adapter) { steps.take($0) }
                }
                #expect(code == .notFound)
            }
            #expect(time >= .seconds(10) && time < .seconds(11))
            #expect(steps.all == ["scanning"])
        }
    }

    @Test func aLinkThatFailsIsTriedAgainFromScanning() async throws {
        try await Fixture.run { fixture in
            let steps = Steps()
            fixture.linble.peripheral.setRefusal(.connectionFailedToBeEstablished)
            _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter) { progress in
                steps.take(progress)
                if progress.startingOver != nil { fixture.linble.peripheral.setRefusal(nil) }
            }
            #expect(
                steps.all.prefix(6) == [
                    "scanning", "found", "connecting 1", "starting over connectionFailed", "scanning", "found",
                ])
            #expect(steps.all.last == "online 244")
        }
    }

    @Test func attemptsEnd() async throws {
        try await Fixture.run { fixture in
            let steps = Steps()
            fixture.linble.peripheral.setRefusal(.connectionFailedToBeEstablished)
            let options = UARTOptions(attempts: 2)
            let code = await failureCode {
                _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter, options: options) {
                    steps.take($0)
                }
            }
            #expect(code == .connectionFailed)
            #expect(steps.all.filter { $0.hasPrefix("connecting") } == ["connecting 1", "connecting 2"])
        }
    }

    @Test func whyItFailedIsToldWhenItIsNotSeenAgain() async throws {
        try await Fixture.run { fixture in
            let code = await failureCode {
                _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter) { progress in
                    if progress.connecting != nil { fixture.linble.peripheral.setHidden(true) }
                }
            }
            #expect(code == .timedOut)
        }
    }

    @Test func aDeviceThatHangsIsDisconnectedAndTriedAgain() async throws {
        try await Fixture.run { fixture in
            let steps = Steps()
            _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter) { progress in
                steps.take(progress)
                switch progress.kind {
                case .connected:
                    if !steps.all.contains("starting over timedOut") { fixture.linble.peripheral.setMute(true) }
                case .startingOver: fixture.linble.peripheral.setMute(false)
                default: break
                }
            }
            #expect(steps.all.contains("starting over timedOut"))
            #expect(steps.all.last == "online 244")
            #expect(fixture.linble.peripheral.links.count == 1)
        }
    }

    @Test func aDeviceOfAnotherKindIsLeftAtOnce() async throws {
        try await Fixture.run(.init(profile: .nordic)) { fixture in
            let steps = Steps()
            let code = await failureCode {
                _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter) { steps.take($0) }
            }
            #expect(code == .unsupported)
            #expect(!steps.all.contains { $0.hasPrefix("starting over") })
            // The kernel drops the link two seconds after its last channel is closed.
            while !fixture.linble.peripheral.links.isEmpty {
                _ = await failureCode {
                    _ = try await fixture.adapter.firstAdvertisement(timeout: .milliseconds(500)) { _ in false }
                }
            }
        }
    }

    @Test func aDeviceThatWantsPairingIsPairedWith() async throws {
        try await Fixture.run(.init(requiresEncryption: true)) { fixture in
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter)
            let security = try await uart.connection.security()
            #expect(security.level == .medium)
            await uart.connection.disconnect()
        }
    }

    @Test func aLinkMayHaveToBeProtectedBeforeTheUARTIsOpened() async throws {
        try await Fixture.run { fixture in
            var options = UARTOptions()
            options.security.level = .medium
            let uart = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter, options: options)
            let security = try await uart.connection.security()
            #expect(security.level == .medium)
            await uart.connection.disconnect()
        }
    }

    @Test func aDeviceThatWantsPairingSaysSo() async throws {
        try await Fixture.run(.init(requiresEncryption: true)) { fixture in
            var options = UARTOptions()
            options.security.policy = .never
            let error = await failure {
                _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter, options: options)
            }
            #expect(error?.code == .attributeProtocol)
            #expect(error?.remedy?.contains("pairing") == true)
        }
    }

    @Test func cancellingEndsItAndLeavesNoLink() async throws {
        try await Fixture.run { fixture in
            fixture.linble.peripheral.setMute(true)
            let (steps, step) = AsyncStream.makeStream(of: Void.self)
            let code = await withTaskGroup(of: BluetoothError.Code?.self) { group in
                group.addTask {
                    await failureCode {
                        _ = try await UARTConnection.open(.name("LINBLE-Z1"), on: fixture.adapter) { progress in
                            if progress.connecting != nil { step.yield() }
                        }
                    }
                }
                for await _ in steps { break }
                group.cancelAll()
                return await group.next() ?? nil
            }
            #expect(code == .cancelled)
        }
    }
}
