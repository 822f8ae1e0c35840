import BluetoothLE
import CoreBluetooth
import Synchronization
import Testing

@Suite struct PeripheralRoleTests {
    /// Runs a test with a program that publishes a service, on one machine, and one that uses it, on another.
    private func run(
        _ story: @escaping @Sendable (Fixture, Server, Recorder) async throws -> Void
    ) async throws {
        try await Fixture.run { fixture in
            let server = await Server.start(fixture)
            let other = fixture.radio.makeKernel(adapters: [.fresh])
            try await CBLinux.withKernel(other) {
                let client = await Recorder.start(fixture)
                await client.reach(Server.service, named: "Server")
                try await story(fixture, server, client)
            }
        }
    }

    @Test func aServiceIsAddedOnce() async throws {
        try await Fixture.run { fixture in
            let server = await Server.start(fixture)
            await fixture.onQueue {
                guard let manager = server.manager else { return }
                manager.add(server.offer)
                manager.startAdvertising(nil)
                manager.add(CBMutableService(type: CBUUID(string: "1800"), primary: true))
                let wrong = CBMutableService(type: CBUUID(string: "1815"), primary: true)
                wrong.characteristics = [
                    CBMutableCharacteristic(
                        type: CBUUID(string: "2A56"), properties: [.read, .write], value: Data(),
                        permissions: .readable)
                ]
                manager.add(wrong)
            }
            await fixture.wait(for: "added false 1", in: server.journal)
            #expect(
                server.journal.entries == [
                    "state 5", "added true 0", "advertising true 0", "added true 1", "advertising true 9",
                    "added false 8", "added false 1",
                ])
            await fixture.onQueue {
                server.manager?.stopAdvertising()
                #expect(server.manager?.isAdvertising == false)
                server.manager?.startAdvertising([CBAdvertisementDataLocalNameKey: "Again"])
            }
            await fixture.wait(for: "advertising true 0", in: server.journal, count: 2)
        }
    }

    @Test func valuesAreReadAndWritten() async throws {
        try await run { _, server, client in
            let dynamic = Server.dynamic.uuidString
            await client.perform(with: { peripheral in
                guard let dynamic = peripheral.characteristic(dynamic, in: Server.service.uuidString),
                    let fixed = peripheral.characteristic(Server.fixed.uuidString, in: Server.service.uuidString)
                else { return }
                peripheral.readValue(for: fixed)
                peripheral.readValue(for: dynamic)
                peripheral.writeValue(Data([1, 2, 3]), for: dynamic, type: .withResponse)
                peripheral.writeValue(Data([0xEE]), for: dynamic, type: .withResponse)
                peripheral.writeValue(Data(count: 512), for: dynamic, type: .withResponse)
                peripheral.discoverDescriptors(for: fixed)
            })
            await client.wait(for: "descriptors \(Server.fixed)")
            #expect(
                client.take().suffix(4) == [
                    "wrote \(dynamic)", "wrote \(dynamic) CBATTError 129", "wrote \(dynamic)",
                    "descriptors \(Server.fixed)",
                ])
            await client.perform(with: { peripheral in
                let dynamic = peripheral.characteristic(dynamic, in: Server.service.uuidString)
                let fixed = peripheral.characteristic(Server.fixed.uuidString, in: Server.service.uuidString)
                #expect(dynamic?.value == server.value)
                #expect(fixed?.value == Data("fixed".utf8))
                #expect(fixed?.descriptors?.map(\.uuid.uuidString) == ["2901"])
            })
            let writes = server.journal.entries.filter { $0.hasPrefix("wrote") }
            #expect(writes.prefix(2) == ["wrote 0+3", "wrote 0+1"])
            // All parts of a long write are delivered together.
            #expect(writes.count == 3)
        }
    }

    @Test func everySubscriberGetsEveryValue() async throws {
        try await run { fixture, server, client in
            let name = Server.stream.uuidString
            await client.perform(with: name, in: Server.service.uuidString) { $0.setNotifyValue(true, for: $1) }
            await client.wait(for: "notifying \(name) true")
            await fixture.wait(for: "subscribed true 1", in: server.journal)
            #expect((server.central?.maximumUpdateValueLength ?? 0) > 20)
            _ = client.take()
            await fixture.onQueue {
                server.left = 300
                server.sendRest()
                // More than are accepted at once.
                #expect(server.left > 0)
            }
            await client.wait(for: "value \(name) = 1 0")
            let expected = (1...300).reversed().map { "value \(name) = \($0 & 0xFF) \($0 >> 8)" }
            #expect(client.take() == expected)
            #expect(server.journal.entries.contains("ready"))
            await client.perform(with: name, in: Server.service.uuidString) { peripheral, stream in
                peripheral.setNotifyValue(false, for: stream)
                peripheral.setNotifyValue(true, for: stream)
            }
            await fixture.wait(for: "subscribed true 1", in: server.journal, count: 2)
            await client.perform { manager, program in
                if let peripheral = program.peripherals.first { manager.cancelPeripheralConnection(peripheral) }
            }
            await fixture.wait(for: "unsubscribed true 0", in: server.journal, count: 2)
        }
    }

    /// A central that does not confirm indications delays no other.
    @Test func aCentralThatDoesNotConfirm() async throws {
        try await run { fixture, server, client in
            let indicated = CBMutableCharacteristic(
                type: CBUUID(string: "2A1C"), properties: .indicate, value: nil, permissions: [])
            let service = CBMutableService(type: CBUUID(string: "1809"), primary: true)
            service.characteristics = [indicated]
            await fixture.onQueue { server.manager?.add(service) }
            await fixture.wait(for: "added false 0", in: server.journal)
            let address = try #require(fixture.kernel.adapters().first?.address)
            let far = fixture.radio.makeKernel(adapters: [.fresh])
            let stuck = try await Adapter.open(power: .powerOn, on: far)
            let link = try await stuck.connect(to: address)
            let wanted = try #require(try await link.discover().characteristic("2A1C", in: "1809"))
            let values = try await link.subscribe(to: wanted)
            await fixture.wait(for: "subscribed false 0", in: server.journal)
            // It receives packets but sends none.
            far.setSending(false, adapter: 0)
            let name = Server.stream.uuidString
            await client.setNotify(true, name, in: Server.service.uuidString)
            await client.wait(for: "notifying \(name) true")
            await fixture.wait(for: "subscribed true 1", in: server.journal)
            _ = client.take()
            let start = fixture.radio.now
            await fixture.onQueue {
                for number in 0..<5 {
                    let isTaken = server.manager?.updateValue(
                        Data([UInt8(number)]), for: indicated, onSubscribedCentrals: nil)
                    #expect(isTaken == true)
                }
                server.left = 200
                server.sendRest()
                #expect(server.left > 0)
            }
            await client.wait(for: "value \(name) = 1 0")
            #expect(start.duration(to: fixture.radio.now) < .seconds(5))
            #expect(client.take() == (1...200).reversed().map { "value \(name) = \($0 & 0xFF) \($0 >> 8)" })
            // Values accepted for it before are not lost, once it has recovered.
            far.setSending(true, adapter: 0)
            var iterator = values.makeAsyncIterator()
            for number in 0..<5 as Range<UInt8> {
                #expect(try await iterator.next() == [number])
            }
            await fixture.onQueue {
                _ = server.manager?.updateValue(Data([9]), for: indicated, onSubscribedCentrals: nil)
            }
            #expect(try await iterator.next() == [9])
            await link.disconnect()
            await stuck.close()
        }
    }

    @Test func channels() async throws {
        try await run { fixture, server, client in
            await fixture.onQueue { server.manager?.publishL2CAPChannel(withEncryption: false) }
            await fixture.wait(for: "published true", in: server.journal)
            let psm = server.psm
            let opened = Mutex<CBL2CAPChannel?>(nil)
            client.then["channel \(psm)"] = { _, channel in
                if let channel = channel as? CBL2CAPChannel { opened.withLock { $0 = channel } }
            }
            await client.perform(with: { $0.openL2CAPChannel(psm) })
            await client.wait(for: "channel \(psm)")
            await fixture.wait(for: "opened true", in: server.journal)
            let mine = try #require(opened.withLock { $0 })
            let theirs = try #require(server.channel)
            #expect(mine.peer === client.peripherals.first)
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let sender = UncheckedSendable(mine.outputStream)
            let receiver = UncheckedSendable(theirs.inputStream)
            sender.object?.open()
            receiver.object?.open()
            // Blocking, as streams that are not scheduled are; on threads of their own, since time has to pass.
            let sending = onThread(fixture) {
                var sent = 0
                while sent < bytes.count {
                    let count = bytes[sent...].withUnsafeBufferPointer { buffer in
                        buffer.baseAddress.map { sender.object?.write($0, maxLength: buffer.count) ?? -1 } ?? -1
                    }
                    guard count > 0 else { break }
                    sent += count
                }
                sender.object?.close()
            }
            let receiving = onThread(fixture) { () -> [UInt8] in
                var received: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 1000)
                while received.count < bytes.count {
                    let count = receiver.object?.read(&buffer, maxLength: buffer.count) ?? -1
                    guard count > 0 else { break }
                    received += buffer.prefix(count)
                }
                return received
            }
            #expect(await receiving.value == bytes)
            await sending.value
        }
    }
}

/// Runs a blocking call on a thread of its own, and not on one of Swift's few, which other tests may keep busy.
private func onThread<Result: Sendable>(
    _ fixture: Fixture, _ body: @escaping @Sendable () -> Result
) -> Task<Result, Never> {
    Task(executorPreference: fixture.radio.loop) {
        await withCheckedContinuation { done in Thread.detachNewThread { done.resume(returning: body()) } }
    }
}

private struct UncheckedSendable<Object>: @unchecked Sendable {
    let object: Object
    init(_ object: Object) { self.object = object }
}
