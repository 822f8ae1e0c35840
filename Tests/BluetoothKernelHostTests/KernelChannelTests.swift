import BluetoothATT
import BluetoothHost
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSimulation
import Logging
import TestSupport
import Testing

@testable import BluetoothKernelHost

/// A socket whose link is being encrypted refuses to send as if it were not connected, possibly for ever.
@Suite struct KernelChannelTests {
    /// A channel with a scripted socket. Lives on the loop.
    private final class Place {
        enum Event: Equatable { case writable, security(SecurityEvent), ended(BluetoothError) }

        final class Receiver: ChannelReceiver, PairingReceiver {
            var events: [Event] = []
            func receive(_ packet: RawSpan) {}
            func channelIsWritable() { events.append(.writable) }
            func receive(_ event: PairingEvent, of links: [any ChannelReceiver]) {
                if case .security(let event) = event, links.first === self { events.append(.security(event)) }
            }
            func channelEnded(_ reason: BluetoothError) { events.append(.ended(reason)) }
        }

        let socket: ScriptedSocket
        let channel: KernelChannel
        private let receiver = Receiver()
        var events: [Event] { receiver.events }

        init(_ kind: L2CAPChannel, on kernel: SimulatedKernel) {
            let (loop, log) = (kernel.loop, Logger(label: "test"))
            let management = LoopBound(ManagementClient(on: kernel, log: log), on: loop)
            let pairings = PairingStream(KernelKeys(of: kernel, by: management, log: log), on: loop)
            pairings.receiver = receiver
            let life = ChannelLife(of: BluetoothAddress(0x1234, kind: .public), kind, nil, pairings, on: loop)
            socket = ScriptedSocket([], on: loop) { life.receive($0) }
            channel = KernelChannel(socket, life, isRecorded: false, on: loop)
            life.begin(receiver, nil, isCentral: true)
        }

        func send(_ packet: [UInt8] = [1, 2]) -> ChannelSend { channel.send(packet.span.bytes) }

        func raise(owing outstanding: OutstandingTransactions, isBegun: Bool = false) -> SecurityEvent? {
            channel.raiseSecurity(to: .medium, owing: outstanding, isBegun: isBegun)
        }
    }

    private static func run(
        _ kind: L2CAPChannel = .attribute,
        _ body: @escaping @Sendable (SimulatedRadio, LoopBound<Place>) async throws -> Void
    ) async throws {
        let radio = SimulatedRadio()
        try await radio.run(limit: .seconds(600), stallGrace: .seconds(2)) {
            let (loop, kernel) = (radio.loop, radio.makeKernel())
            try await body(radio, await loop.run { LoopBound(Place(kind, on: kernel), on: loop) })
        }
        radio.close()
    }

    @Test func whatIsNotEncryptedIn30SecondsEnds() async throws {
        try await Self.run { radio, place in
            let first = await radio.loop.run {
                place.value.socket.setEncrypting(true)
                return place.value.send()
            }
            #expect(first == .wouldBlock)
            try await radio.sleep(for: .milliseconds(29_999))
            #expect(await radio.loop.run { place.value.events } == [])
            try await radio.sleep(for: .milliseconds(2))
            guard case .ended(let reason)? = await radio.loop.run({ place.value.events.first }) else {
                Issue.record("The channel is open.")
                return
            }
            #expect(reason.disconnectReason == .authentication)
            #expect(reason.pairingFailure == .rejected)
            #expect(reason.cause == .kernel(KernelError("encrypt", .timedOut)))
        }
    }

    @Test func whatIsEncryptedInTimeGoesOn() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                place.value.socket.setEncrypting(true)
                #expect(place.value.send() == .wouldBlock)
                place.value.channel.notifyWhenWritable()
            }
            try await radio.sleep(for: .seconds(29))
            await radio.loop.run { place.value.socket.setEncrypting(false) }
            try await radio.sleep(for: .seconds(60))
            #expect(await radio.loop.run { place.value.events } == [.writable])
        }
    }

    @Test func aRaiseHasItsOwnLimit() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                #expect(place.value.channel.raiseSecurity(to: .medium) == .began)
                place.value.socket.setEncrypting(true)
                #expect(place.value.send() == .wouldBlock)
                #expect(place.value.send([0x0A, 3, 0]) == .held)
            }
            try await radio.sleep(for: .milliseconds(29_999))
            #expect(await radio.loop.run { place.value.events } == [])
            try await radio.sleep(for: .milliseconds(2))
            // The owner of the link ends it.
            #expect(await radio.loop.run { place.value.events } == [.security(.failed(.timedOut))])
        }
    }

    @Test func theEndOfEncryptionIsAnEvent() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                _ = place.value.channel.raiseSecurity(to: .medium)
                place.value.socket.setEncrypting(true)
            }
            try await radio.sleep(for: .seconds(29))
            #expect(await radio.loop.run { place.value.events } == [])
            await radio.loop.run { place.value.socket.setEncrypting(false) }
            try await radio.sleep(for: .seconds(1))
            let encrypted = SecurityEvent.encrypted(LinkSecurity(level: .medium, keySize: 16))
            #expect(await radio.loop.run { place.value.events } == [.security(encrypted), .writable])
            // That request is completed.
            await radio.loop.run {
                place.value.socket.setEncrypting(true)
                #expect(place.value.send() == .wouldBlock)
            }
            try await radio.sleep(for: .seconds(31))
            #expect(await radio.loop.run { place.value.events }.count == 3)
        }
    }

    @Test func whatIsOutstandingIsAnsweredBeforeTheRaise() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                #expect(place.value.send([0x0A, 3, 0]) == .sent)
                #expect(place.value.raise(owing: OutstandingTransactions(request: .readRequest)) == nil)
                for beginning: [UInt8] in [[0x0A, 5, 0], [0x52, 3, 0, 1], [0x1B, 3, 0, 1], [0x1D, 3, 0, 1]] {
                    #expect(place.value.send(beginning) == .held)
                }
                #expect(place.value.send([0x0B, 1]) == .sent, "the peer waits for it")
                #expect(place.value.send([0x1E]) == .sent)
                place.value.socket.deliver("0B 01")
            }
            try await radio.sleep(for: .milliseconds(1))
            await radio.loop.run {
                let encrypted = SecurityEvent.encrypted(LinkSecurity(level: .medium, keySize: 16))
                #expect(place.value.events.prefix(3) == [.security(.began), .security(encrypted), .writable])
                #expect(place.value.send([0x0A, 5, 0]) == .sent)
            }
        }
    }

    /// What the peer waits for does not delay the raise, and what is sent meanwhile where the kernel has begun does.
    @Test func whatIsSentWhileTheKernelEncryptsANewLinkIsAnsweredFirst() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                #expect(place.value.raise(owing: OutstandingTransactions(isPeerWaiting: true), isBegun: true) == nil)
                #expect(place.value.send([0x0A, 3, 0]) == .sent)
            }
            try await radio.sleep(for: .seconds(11))
            await radio.loop.run {
                #expect(place.value.events == [])
                #expect(place.value.send([0x0A, 5, 0]) == .held)
                place.value.socket.deliver("01 0A 03 00 05")
            }
            try await radio.sleep(for: .milliseconds(1))
            #expect(await radio.loop.run { place.value.events.first } == .security(.began))
        }
    }

    @Test func aWithdrawnRaiseReleasesWhatIsHeld() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                #expect(place.value.send([0x1D, 3, 0, 1]) == .sent)
                #expect(place.value.raise(owing: OutstandingTransactions(isConfirmationDue: true)) == nil)
                #expect(place.value.send([0x0A, 5, 0]) == .held)
                #expect(place.value.channel.raiseSecurity(to: nil) == nil)
            }
            try await radio.sleep(for: .milliseconds(1))
            await radio.loop.run {
                #expect(place.value.events == [.writable])
                #expect(place.value.send([0x0A, 5, 0]) == .sent)
                place.value.socket.deliver("1E")
            }
            try await radio.sleep(for: .milliseconds(1))
            #expect(await radio.loop.run { place.value.events } == [.writable])
        }
    }

    @Test func aClosedChannelTellsNothing() async throws {
        try await Self.run { radio, place in
            await radio.loop.run {
                place.value.socket.setEncrypting(true)
                #expect(place.value.send() == .wouldBlock)
                place.value.channel.close()
            }
            try await radio.sleep(for: .seconds(31))
            #expect(await radio.loop.run { place.value.events } == [])
        }
    }

    @Test func otherChannelsAreNotHeldUp() async throws {
        try await Self.run(.dynamic(psm: 0x80)) { radio, place in
            let outcome = await radio.loop.run {
                place.value.socket.setEncrypting(true)
                return place.value.send()
            }
            #expect(outcome == .failed(ChannelFailure(.kernel(KernelError("send", .notConnected)), isTooLong: false)))
        }
    }
}
