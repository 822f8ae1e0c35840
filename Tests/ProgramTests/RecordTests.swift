import BluetoothDeviceFile
import BluetoothLE
import BluetoothSimulation
import ExampleSupport
import Glibc
import Testing

@testable import ble

/// `ble record`, and the recorded file in `--world` and `ble serve`.
@Suite(.serialized) struct RecordTests {
    /// The device in a file, without what differs between two recordings of the same device.
    private func device(in path: String, withoutHandles: Bool = false) throws -> DeviceDescription {
        var device = try #require(try DeviceFile(contentsOf: path).devices.first)
        device.rssi = 0
        device.recording = nil
        for index in device.advertisements.indices {
            device.advertisements[index].rssi = nil
            device.advertisements[index].interval = nil
        }
        return device.timeless(withoutHandles: withoutHandles)
    }

    @Test func aRecordedDeviceIsTheSameInAWorldAndRecordedAgain() async throws {
        try await withFolder { folder in
            let (first, second) = ("\(folder)/first.json", "\(folder)/second.json")
            let recorded = try await run("ble", ["record", "--simulate", "-n", "Pulse-Z1", first, "--for", "1.2"])
            #expect(recorded.status == 0, "\(recorded.messages)")
            #expect(recorded.output.contains("8 services, 17 characteristics, 23 values (1 refused)"))
            let schema = try Schema(named: "device")
            #expect(schema.errors(in: try JSONValue(reading: Array(contents(of: first).utf8))).isEmpty)

            let explored = try await run("ble", ["explore", "--world", first])
            #expect(explored.output == ExploreTests.tree, "\(explored.messages)")

            let again = try await run("ble", ["record", "--world", first, second, "--for", "1.2"])
            #expect(again.status == 0, "\(again.messages)")
            let original = try device(in: first)
            #expect(try device(in: second) == original)
            let values = original.services.flatMap(\.characteristics).flatMap(\.notifications).map(\.value)
            #expect(values.contains([0, 72]) && values.contains([0, 0x6D, 1, 0, 0xFF]))

            try await serve(first, recordedIn: "\(folder)/served.json")
            var served = try device(in: "\(folder)/served.json", withoutHandles: true)
            var expected = try device(in: first, withoutHandles: true)
            // This machine has an address, flags, Generic Access and Generic Attribute of its own.
            served.address = nil
            served.services.removeAll { ["1800", "1801"].contains($0.uuid) }
            for index in served.advertisements.indices { served.advertisements[index].data[2] = 6 }
            expected.address = nil
            expected.services.removeAll { ["1800", "1801"].contains($0.uuid) }
            #expect(served == expected)
        }
    }

    /// Serves the device of a file on one machine and records it on another.
    private func serve(_ path: String, recordedIn other: String) async throws {
        let radio = SimulatedRadio(time: .real)
        let (own, visitor) = (radio.makeKernel(), radio.makeKernel())
        let options = try CommonOptions.parse(["--json"])
        let device = try ServedDevice(path)
        let console = Console(options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let adapter = try await Adapter.open(on: own)
                try await DeviceServer(device, on: adapter, console).run(once: false)
            }
            group.addTask {
                let adapter = try await Adapter.open(on: visitor)
                let found = try await adapter.firstAdvertisement { $0.localName == "Pulse-Z1" }
                let heard = try await listen(on: adapter, for: .milliseconds(500))
                var options = ConnectionOptions()
                options.security.policy = .never
                let connection = try await adapter.connect(to: found, options: options)
                // Each value comes once a second; on a busy machine the first comes late.
                let recorder = DeviceRecorder(
                    connection: connection, timeout: .seconds(10), duration: .seconds(4), console: console)
                var recorded = try await recorder.record()
                recorded.device.add(heard.filter { $0.latest.address == connection.peer })
                try NewFile(other, replacesExisting: false).write(try recorded.file())
                await connection.disconnect()
            }
            // The recording ends, or the server fails.
            try await group.next()
            group.cancelAll()
        }
    }

    @Test func nothingIsOverwrittenWithoutForce() async throws {
        try await withFolder { folder in
            let path = "\(folder)/file.json"
            #expect(await shell("echo own >\(path)") == 0)
            let refused = try await run("ble", ["record", "--simulate", path, "--for", "0"])
            #expect(refused.status == 73)
            #expect(refused.messages.contains("--force"), "\(refused.messages)")
            #expect(contents(of: path) == "own\n")
            #expect(try await run("ble", ["record", "--simulate", "\(folder)/none/file.json"]).status == 73)
            #expect(try await run("ble", ["record", "--simulate", "/dev/null", "--force"]).status == 73)
            let missing = try await run(
                "ble", ["record", "--simulate", "-n", "nobody", "--find-time", "0.1", "\(folder)/b.json"])
            #expect(missing.status == 68)
            // Nothing else is left.
            #expect(await shell("test \"$(ls \(folder))\" = file.json") == 0)
        }
    }

    @Test func ctrlCKeepsWhatWasRecorded() async throws {
        try await withFolder { folder in
            let path = "\(folder)/file.json"
            let status = await shell(
                """
                '\(builtFolder)/ble' record --simulate \(path) -v 2>\(folder)/err >\(folder)/out &
                while kill -0 $! && ! grep -qs 'recording notifications' \(folder)/err; do sleep 0.05; done
                kill -INT $!; wait $!
                """)
            #expect(status == 130)
            #expect(contents(of: "\(folder)/out").hasPrefix("recorded Pulse-Z1"), "\(contents(of: "\(folder)/err"))")
            let file = try DeviceFile(contentsOf: path)
            #expect(file.devices.first?.services.count == 8)
        }
    }
}

extension DeviceDescription {
    /// The device with the first notifications only, without their times, and, if wanted, without handles and the descriptors that the
    /// properties require.
    fileprivate func timeless(withoutHandles: Bool) -> DeviceDescription {
        var result = self
        for index in services.indices {
            if withoutHandles {
                result.services[index].handle = nil
                result.services[index].end = nil
                result.services[index].includes = services[index].includes.map { DescribedInclude($0.uuid) }
            }
            for position in services[index].characteristics.indices {
                var characteristic = services[index].characteristics[position]
                // A busy machine has one more or less at the end of the time.
                characteristic.notifications = characteristic.notifications.prefix(1).map {
                    DescribedNotification(after: .zero, $0.value)
                }
                if withoutHandles {
                    characteristic.handle = nil
                    characteristic.descriptors = characteristic.descriptors.map {
                        DescribedDescriptor($0.uuid, value: $0.value)
                    }
                }
                result.services[index].characteristics[position] = characteristic
            }
        }
        return result
    }
}
