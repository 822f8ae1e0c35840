import BluetoothLE
import TestSupport
import Testing

/// Requests as tokens, which a program answers: between two machines.
@Suite struct RequestTokenStories {
    @Test func tokensAreAnsweredOnce() async throws {
        let door = LocalCharacteristic(0xFFF1, properties: [.read, .write])
        try await PeripheralFixture.serve([LocalService(0xFFF0) { door }]) { _, published, connection in
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            // Without a reader they are refused.
            #expect(await failure { _ = try await connection.read(value) }?.attributeError == .readNotPermitted)
            #expect(await failure { try await connection.write([1], to: value) }?.attributeError == .writeNotPermitted)
            var requests = try published.requests().makeAsyncIterator()
            #expect(await failure { _ = try published.requests() }?.code == .busy)

            async let read = connection.read(value)
            let token = try #require(try await requests.next()?.read)
            #expect(token.request.target == door.id)
            #expect(token.respond(with: [4, 2]))
            #expect(!token.respond(with: [0]))
            #expect(!token.refuse(.unlikelyError))
            #expect(try await read == [4, 2])

            async let refusal = failure { try await connection.write([1], to: value) }
            let write = try #require(try await requests.next()?.write)
            #expect(write.requests.map(\.value) == [[1]])
            write.refuse(.valueNotAllowed)
            #expect(await refusal?.attributeError == .valueNotAllowed)
        }
    }

    @Test func aReleasedTokenAnswersUnlikelyError() async throws {
        let door = LocalCharacteristic(0xFFF1, properties: .read)
        try await PeripheralFixture.serve([LocalService(0xFFF0) { door }]) { _, published, connection in
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            let requests = try published.requests()
            async let released: Void = {
                // The loop is left with the token unanswered.
                for try await _ in requests { break }
            }()
            #expect(await failure { _ = try await connection.read(value) }?.attributeError == .unlikelyError)
            try await released
        }
    }

    @Test func allWritesOfOneExecuteAreOneToken() async throws {
        let left = LocalCharacteristic(0xFFF1, properties: .write, extendedProperties: .reliableWrite)
        let right = LocalCharacteristic(0xFFF2, properties: .write, extendedProperties: .reliableWrite)
        let service = LocalService(0xFFF0) {
            left
            right
        }
        try await PeripheralFixture.serve([service]) { _, published, connection in
            let first = try await connection.found(0xFFF1, in: 0xFFF0)
            let second = try await connection.found(0xFFF2, in: 0xFFF0)
            var requests = try published.requests().makeAsyncIterator()
            async let written: Void = connection.writeReliably([
                AttributeWrite([1, 2], to: first.valueHandle), AttributeWrite([3], to: second.valueHandle),
            ])
            let token = try #require(try await requests.next()?.write)
            #expect(token.requests.map(\.target) == [left.id, right.id])
            #expect(token.requests.map(\.value) == [[1, 2], [3]])
            token.respond()
            try await written
        }
    }

    @Test func aCommandWaitsForNoAnswer() async throws {
        let sink = LocalCharacteristic(0xFFF1, properties: [.writeWithoutResponse, .read])
        try await PeripheralFixture.serve([LocalService(0xFFF0) { sink }]) { _, published, connection in
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            var requests = try published.requests().makeAsyncIterator()
            try await connection.writeCommand([1], to: value)
            try await connection.writeCommand([2], to: value)
            var held: [PendingWrite] = []
            for number in 1...2 {
                let write = try #require(try await requests.next()?.write)
                #expect(write.requests.map(\.value) == [[UInt8(number)]])
                #expect(write.requests.map(\.isCommand) == [true])
                held.append(write)
            }
            // Commands that are held hold up nothing.
            async let read = connection.read(value)
            let token = try #require(try await requests.next()?.read)
            token.respond(with: [6])
            #expect(try await read == [6])
            #expect(held.count == 2)
        }
    }

    @Test func theStreamEndsWithItsServices() async throws {
        let door = LocalCharacteristic(0xFFF1, properties: .read)
        try await PeripheralFixture.run { fixture in
            let published = try await fixture.peripheral.publish { LocalService(0xFFF0) { door } }
            var requests = try published.requests().makeAsyncIterator()
            await published.close()
            #expect(try await requests.next() == nil)
            #expect(published[door].handle == nil)
            #expect(await failure { try await published[door].notify([1]) }?.code == .invalidArgument)
            let again = try await fixture.peripheral.publish { LocalService(0xFFF0) { door } }
            var others = try again.requests().makeAsyncIterator()
            await fixture.peripheral.close()
            #expect(await failure { _ = try await others.next() }?.code == .cancelled)
        }
    }
}

extension ClientRequest {
    fileprivate var read: PendingRead? { if case .read(let read) = self { read } else { nil } }
    fileprivate var write: PendingWrite? { if case .write(let write) = self { write } else { nil } }
}
