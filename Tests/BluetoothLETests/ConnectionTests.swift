import BluetoothGATT
import BluetoothPrimitives
import BluetoothSimulation
import TestSupport
import Testing

@testable import BluetoothLE

private let characteristic = RemoteCharacteristic(
    uuid: 0x2A37, properties: [.notify, .indicate, .read, .write], declarationHandle: 2, valueHandle: 3, endHandle: 4,
    descriptors: [RemoteDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4)])

@Suite struct ConnectionTests {
    @Test func aRefusalNamesTheAttributeAndTheCode() async throws {
        try await withConnection(Exchange("0A0300", "010A030002")) { connection, _ in
            let error = await #expect(throws: BluetoothError.self) { try await connection.read(characteristic) }
            #expect(error?.code == .attributeProtocol)
            #expect(error?.cause == .attribute(.readNotPermitted))
            #expect(error?.attribute == 3)
        }
    }

    @Test func anAnswerOfAnotherKindIsDropped() async throws {
        try await withConnection(
            Exchange("10 0100 FFFF 0028", "03 B900", "01 12 0300 03", "11 06 0100 FFFF 0F18"),
            Exchange("0A0300", "03 B900", "0B02")
        ) { connection, socket in
            let services = try await connection.discoverServices()
            #expect(services.map(\.uuid) == [0x180F])
            #expect(try await connection.read(characteristic) == [2])
            #expect(!socket.isClosed)
        }
    }

    @Test func sixteenAnswersOfAnotherKindCloseTheLink() async throws {
        try await withConnection(Exchange("0A0300")) { connection, socket in
            let reading = Task(executorPreference: connection.loop) { try await connection.read(characteristic) }
            await connection.settle { socket.sent.count == 1 }
            for _ in 0..<16 { socket.deliver("13") }
            #expect(await failureCode { _ = try await reading.value } == .protocolViolation)
            #expect(await failureCode { _ = try await connection.read(characteristic) } == .protocolViolation)
            #expect(await connection.disconnected().disconnectReason == .protocolViolation)
            #expect(socket.isClosed)
        }
    }

    @Test func aMalformedAnswerFailsTheCallAndLeavesTheLink() async throws {
        try await withConnection(Exchange("100100FFFF0028", "1103"), Exchange("0A0300", "0B01")) { connection, _ in
            #expect(await failureCode { _ = try await connection.discoverServices() } == .protocolViolation)
            let value3 = try await connection.read(characteristic)
            #expect(value3 == [1])
        }
    }

    @Test func anUnrequestedResponseIsIgnored() async throws {
        try await withConnection(Exchange("0A0300", "0B01")) { connection, socket in
            socket.deliver("0BFF")
            socket.deliver("13")
            await connection.settle { socket.isDrained }
            let value4 = try await connection.read(characteristic)
            #expect(value4 == [1])
        }
    }

    @Test func silenceEndsTheLinkAfter30Seconds() async throws {
        try await withConnection(Exchange("0A0300")) { connection, socket in
            let start = connection.loop.now
            async let second = failureCode { _ = try await connection.read(characteristic) }
            #expect(await failureCode { _ = try await connection.read(characteristic) } == .timedOut)
            #expect(start.duration(to: connection.loop.now) == .seconds(30))
            #expect(await second == .disconnected)
            #expect(socket.isClosed)
            #expect(await connection.disconnected().code == .disconnected)
        }
    }

    @Test func aLateAnswerDoesNotReachTheNextCaller() async throws {
        try await withConnection(Exchange("0A0300"), Exchange("0A0300", "0B02")) { connection, socket in
            #expect(
                await failureCode { _ = try await connection.read(characteristic, timeout: .seconds(1)) } == .timedOut)
            async let next = connection.read(characteristic)
            socket.deliver("0B01")
            let value5 = try await next
            #expect(value5 == [2])
        }
    }

    @Test func aCancelledCallEndsAtOnceAndItsResponseIsIgnored() async throws {
        try await withConnection(Exchange("0A0300"), Exchange("0A0300", "0B02")) { connection, socket in
            await withTaskGroup(of: BluetoothError.Code?.self) { group in
                group.addTask { await failureCode { _ = try await connection.read(characteristic) } }
                await Task.yield()
                group.cancelAll()
                #expect(await group.next() == .some(.cancelled))
            }
            async let next = connection.read(characteristic)
            socket.deliver("0B01")
            let value6 = try await next
            #expect(value6 == [2])
        }
    }

    @Test func anOverlongValueIsRefusedBeforeAnythingIsSent() async throws {
        try await withConnection { connection, socket in
            let long = [UInt8](repeating: 0, count: 513)
            #expect(await failureCode { try await connection.write(long, to: characteristic) } == .invalidArgument)
            let command = [UInt8](repeating: 0, count: 21)
            #expect(
                await failureCode { try await connection.writeCommand(command, to: characteristic) } == .invalidArgument
            )
            #expect(socket.sent.isEmpty)
        }
    }

    @Test func commandsWaitForRoomAndStayInOrder() async throws {
        try await withConnection(
            Exchange("52030001"), Exchange("52030002"), Exchange("52030003")
        ) { connection, socket in
            socket.setFull(true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for byte in 1...3 as ClosedRange<UInt8> {
                        try await connection.writeCommand([byte], to: characteristic)
                    }
                }
                await Task.yield()
                #expect(socket.sent.isEmpty)
                socket.setFull(false)
                try await group.waitForAll()
            }
        }
    }

    @Test func aRequestThatTheChannelDoesNotTakeEndsInTime() async throws {
        try await withConnection { connection, socket in
            socket.setFull(true)
            let error = await failure { _ = try await connection.read(characteristic, timeout: .seconds(40)) }
            #expect(error?.code == .timedOut)
            #expect(socket.sent.isEmpty)
            socket.setFull(false)
        }
    }

    @Test func theEndOfTheLinkEndsEverything() async throws {
        try await withConnection(
            Exchange("12040001 00", "13"), Exchange("0A0300", end: KernelError("recv", .timedOut))
        ) { connection, socket in
            let values = try await connection.subscribe(to: characteristic)
            async let queued = failureCode { _ = try await connection.read(characteristic) }
            let read = await failureCode { _ = try await connection.read(characteristic) }
            #expect(read == .disconnected)
            #expect(await queued == .disconnected)
            let ended = await failureCode { for try await _ in values {} }
            #expect(ended == .disconnected)
            #expect(await connection.disconnected().message.contains("was lost"))
            #expect(socket.isClosed)
            #expect(await failureCode { try await connection.writeCommand([1], to: characteristic) } == .disconnected)
        }
    }

    @Test func thePeersRequestsAreAnswered() async throws {
        try await withConnection(
            Exchange("03 0502"), Exchange("01 0A 3412 01"), Exchange("01 99 0000 06")
        ) { connection, socket in
            socket.deliver("02 F700")
            socket.deliver("0A 3412")
            socket.deliver("19")
            socket.deliver("59 01")
            socket.deliver("99 01")
            // All delivered requests are answered before a later call.
            await connection.settle { socket.sent.count == 3 }
            #expect(await connection.maximumTransmissionUnit == 247)
        }
    }
}

@Suite struct SubscriptionTests {
    @Test func valuesBeforeTheResponseAreDelivered() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "1B 0300 01", "1B 0300 02", "13"), Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            var values = try await connection.subscribe(to: characteristic).makeAsyncIterator()
            #expect(try await values.next() == [1])
            #expect(try await values.next() == [2])
            socket.deliver("1B 0300 03")
            #expect(try await values.next() == [3])
        }
    }

    @Test func indicationsAreConfirmed() async throws {
        try await withConnection(
            Exchange("12 0400 0200", "13"), Exchange("1E"), Exchange("1E"), Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            var values = try await connection.subscribe(to: characteristic, kind: .indication).makeAsyncIterator()
            socket.deliver("1D 0300 01")
            #expect(try await values.next() == [1])
            socket.deliver("1D 0300 02")
            #expect(try await values.next() == [2])
            await connection.settle { socket.sent.count >= 3 }
        }
    }

    @Test func leavingTheLoopUnsubscribes() async throws {
        try await withConnection(Exchange("12 0400 0100", "13", "1B 0300 01"), Exchange("12 0400 0000", "13")) {
            connection, socket in
            for try await value in try await connection.subscribe(to: characteristic) {
                #expect(value == [1])
                break
            }
            await connection.settle { socket.sent.count == 2 }
        }
    }

    @Test func twoSubscribersEachGetEverything() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13"), Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            var first = try await connection.subscribe(to: characteristic).makeAsyncIterator()
            var second = try await connection.subscribe(to: characteristic).makeAsyncIterator()
            socket.deliver("1B 0300 01")
            #expect(try await first.next() == [1])
            #expect(try await second.next() == [1])
        }
    }

    @Test func aRefusedSubscriptionLeavesNoState() async throws {
        try await withConnection(Exchange("12 0400 0100", "01 12 0400 05")) { connection, socket in
            #expect(await failureCode { _ = try await connection.subscribe(to: characteristic) } == .attributeProtocol)
            socket.deliver("1B 0300 01")
            await connection.settle { await connection.unwantedValueCount == 1 }
        }
    }

    @Test func aSlowConsumerGetsAnOverflowError() async throws {
        try await withConnection(
            Exchange("12 0400 0100", "13", "1B 0300 01", "1B 0300 02", "1B 0300 03"),
            Exchange.optional("12 0400 0000", "13")
        ) { connection, socket in
            var values = try await connection.subscribe(to: characteristic, bufferCapacity: 2).makeAsyncIterator()
            await connection.settle { socket.isDrained }
            #expect(try await values.next() == [1])
            #expect(try await values.next() == [2])
            let error = await #expect(throws: BluetoothError.self) { try await values.next() }
            #expect(error?.code == .overflow)
            #expect(try await values.next() == nil)
        }
    }

    /// The peer delays both the refusal because of an unknown database and the hash.
    @Test func theTimeLimitIncludesIntermediateRequests() async throws {
        try await withConnection(
            Exchange("0A 0300"), Exchange("08 0100 FFFF 2A2B"), Exchange.optional("0A 0300")
        ) { connection, socket in
            let hash = "000102030405060708090A0B0C0D0E0F"
            await connection.expectHash(hash)
            let start = connection.loop.now
            let reading = Task(executorPreference: connection.loop) {
                try await connection.read(AttributeHandle(0x0003), timeout: .seconds(10))
            }
            for (count, answer) in [(1, "01 0A 0300 12"), (2, "09 12 1000 \(hash)")] {
                await connection.settle { socket.sent.count == count }
                #expect(await connection.loop.sleep(for: .seconds(6)))
                socket.deliver(answer)
            }
            #expect(await failure { _ = try await reading.value }?.code == .timedOut)
            #expect(start.duration(to: connection.loop.now) <= .seconds(12))
        }
    }

    @Test(arguments: [(-1, 23), (5, 23), (100, 100), (.max, 517)] as [(Int, UInt16)])
    func theReceiveMTUIsClamped(_ mtu: Int, _ receiveMTU: UInt16) async throws {
        try await Fixture.withPeripheral { _, adapter, peripheral in
            var options = ConnectionOptions()
            options.maximumTransmissionUnit = mtu
            let connection = try await adapter.connect(to: peripheral.address, options: options)
            #expect(await connection.core { $0.configuration.receiveMTU } == receiveMTU)
            await connection.disconnect()
        }
    }

    @Test(
        arguments: [(-1, "1700", 23), (5, "1700", 23), (517, "0502", 100), (.max, "0502", 100)] as [(Int, String, Int)])
    func theOfferedMTUIsClamped(_ mtu: Int, _ offered: String, _ agreed: Int) async throws {
        try await withConnection(Exchange("02 \(offered)", "03 6400")) { connection, socket in
            try await connection.exchangeMTU(offering: mtu)
            #expect(await connection.maximumTransmissionUnit == agreed)
        }
    }

    @Test func aMissingConfigurationDescriptorIsDiscovered() async throws {
        var unknown = characteristic
        unknown.descriptors = []
        try await withConnection(
            Exchange("04 0400 0400", "05 01 0400 0229"), Exchange("12 0400 0100", "13"),
            Exchange("12 0400 0000", "13")
        ) { [unknown] connection, socket in
            _ = try await connection.subscribe(to: unknown)
            await connection.settle { socket.sent.count == 3 }
        }
    }
}

extension Connection {
    /// Stores a database with this hash.
    fileprivate func expectHash(_ hash: String) async {
        await core { link in
            link.database.adopt(RemoteDatabase(services: [], problems: []), hash: DatabaseHash(hex(hash)), link)
        }
    }
}
