import BluetoothLoop
import Testing

@testable import CoreBluetooth

// Components are not counted in every build.
#if DEBUG || COUNTS_COMPONENTS
    /// A radio's components are released with the last of the program's objects.
    @Suite struct ComponentTests {
        @Test func aCentralManagerThatScans() async throws {
            try await Fixture.run { fixture in
                _ = try Device(on: fixture.radio)
                let program = await Recorder.start(fixture)
                let components = try #require(await program.components())
                await program.perform { manager, _ in manager.scanForPeripherals(withServices: nil) }
                await program.wait(for: "discovered \(Device.name)")
                // The radio, the manager's two, and the peripheral's handle.
                #expect(components.value == 4)
                await program.letGo()
                await fixture.settle { components.value == 0 }
            }
        }

        /// A connected peripheral, a connecting one, and one that was connected.
        @Test(arguments: [Use.connected, .connecting, .ended]) func aPeripheral(_ use: Use) async throws {
            try await Fixture.run { fixture in
                let device = try Device(on: fixture.radio)
                device.peripheral.setHidden(use == .connecting)
                let program = await Recorder.start(fixture)
                let components = try #require(await program.components())
                await program.beginConnecting()
                if use == .connecting {
                    try await fixture.radio.sleep(for: .seconds(5))
                } else {
                    await program.wait(for: "name \(Device.name)")
                }
                if use == .ended {
                    device.peripheral.disconnect()
                    await program.wait(for: "disconnected CBError 7")
                }
                // The radio, the manager's two, the peripheral's two, and the link.
                #expect(components.value == (use == .ended ? 5 : 6))
                await program.perform { _, program in program.peripherals = [] }
                await fixture.settle { components.value == 3 && device.peripheral.links.isEmpty }
                await program.letGo()
                await fixture.settle { components.value == 0 }
            }
        }

        enum Use { case connected, connecting, ended }

        /// The manager is released first: only the peripheral's handle and its dependencies remain.
        @Test func aPeripheralWithoutItsManager() async throws {
            try await Fixture.run { fixture in
                let device = try Device(on: fixture.radio)
                let program = await Recorder.start(fixture)
                let components = try #require(await program.components())
                _ = try #require(await program.reachDevice())
                await program.perform { _, program in program.manager = nil }
                await fixture.settle { components.value == 3 && device.peripheral.links.isEmpty }
                await program.letGo()
                await fixture.settle { components.value == 0 }
            }
        }

        /// Two managers that share a link.
        @Test func aSharedLink() async throws {
            try await Fixture.run { fixture in
                let device = try Device(on: fixture.radio)
                let programs = [await Recorder.start(fixture), await Recorder.start(fixture)]
                let components = try #require(await programs[0].components())
                for program in programs { _ = try #require(await program.reachDevice()) }
                #expect(components.value == 1 + 2 * 4 + 1)
                await programs[0].letGo()
                await fixture.settle { components.value == 1 + 4 + 1 }
                #expect(device.peripheral.links.count == 1)
                await programs[1].letGo()
                await fixture.settle { components.value == 0 && device.peripheral.links.isEmpty }
            }
        }

        /// With a service, a subscribed central, an advertising set and a channel.
        @Test func aPeripheralManager() async throws {
            try await Fixture.run { fixture in
                let (server, client) = await Server.visited(fixture, subscribing: true)
                let components = try #require(
                    await fixture.onQueue { server.manager?.handle?.radio.components })
                await fixture.onQueue { server.manager?.publishL2CAPChannel(withEncryption: false) }
                await fixture.wait(for: "published true", in: server.journal)
                // The radio, and the manager's two.
                #expect(components.value == 3)
                await fixture.onQueue { server.manager = nil }
                await fixture.settle { components.value == 0 }
                await client.letGo()
            }
        }
    }

    extension Recorder {
        fileprivate func components() async -> ComponentCount? {
            await fixture.onQueue { self.manager?.handle?.radio.components }
        }

        /// Releases the manager and all peripherals.
        fileprivate func letGo() async {
            await fixture.onQueue {
                self.advertisements = []
                self.peripherals = []
                self.manager = nil
            }
        }
    }
#endif
