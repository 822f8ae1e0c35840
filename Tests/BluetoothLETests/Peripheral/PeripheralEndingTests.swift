import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Everything a peripheral waits for, ended in every way.
///
/// The calls wait for something that does not come by itself: a central that confirms nothing, a link that takes nothing, a
/// handler that waits, a kernel that does not answer.
@Suite struct PeripheralEndingTests {
    /// What ends the wait.
    enum End: CaseIterable {
        case cancel, powerOff, block, unplug, close, disconnect, loss
    }

    /// What waits.
    enum Wait: CaseIterable {
        case indicateOne, indicateAll, notifyOne, notifyAll, subscriptions, incoming, states, ended, whileAdvertising
        case advertise, update, stop, removeForeign, closed

        /// What ends it, besides that some calls end by themselves after a while.
        func isEnded(by end: End) -> Bool {
            switch end {
            case .cancel: true
            // Links outlive the adapter object.
            case .close: !isOnLink
            case .disconnect, .loss: isOnLink
            // Links are taken, and what is resumed is advertised, when the adapter is back.
            case .powerOff, .block, .unplug: ![.incoming, .states, .ended].contains(self)
            }
        }

        /// Whether the end of a link is its end.
        var isOnLink: Bool {
            switch self {
            case .indicateOne, .indicateAll, .notifyOne, .notifyAll, .subscriptions, .closed: true
            default: false
            }
        }
    }

    fileprivate struct EndingFixture: Sendable {
        let base: PeripheralFixture
        let published: PublishedServices
        let incoming: IncomingConnections
        let set: AdvertisingSet
        /// A central's side of a link, and ours.
        let connection: Connection
        let accepted: Connection

        /// Runs until it is ended; says how it ended, nil for regularly.
        func run(_ wait: Wait) async throws {
            let handle = PeripheralFixture.value
            switch wait {
            case .indicateOne: try await accepted.indicate([1], of: handle)
            case .indicateAll: try check(try await published.indicate([1], of: handle))
            case .notifyOne: while true { try await accepted.notify(pattern(100), of: handle) }
            case .notifyAll:
                while true {
                    try check(try await published.notify(pattern(100), of: handle, timeout: .seconds(500)))
                    try Task.checkCancellation()
                }
            case .subscriptions: for try await _ in await accepted.peerSubscriptions() {}
            case .incoming: for try await _ in incoming {}
            case .states: for try await _ in set.states() {}
            case .ended: throw await set.closed()
            case .closed: throw await accepted.disconnected()
            case .whileAdvertising:
                let peripheral = base.peripheral
                try await peripheral.withAdvertising(PeripheralFixture.content) { (set: AdvertisingSet) -> Void in
                    let reason = await set.closed()
                    throw reason
                }
            case .advertise: _ = try await base.peripheral.advertise(PeripheralFixture.content)
            case .update: try await set.update(AdvertisementContent(localName: "other"))
            case .stop: await set.close()
            case .removeForeign: try await base.peripheral.removeForeignAdvertising()
            }
        }

        private func check(_ deliveries: [ValueDelivery]) throws {
            for delivery in deliveries { try delivery.result.get() }
        }

        func end(_ end: End, _ task: Task<Void, any Error>) async {
            let index = base.peripheral.information.index
            switch end {
            case .cancel: task.cancel()
            case .powerOff: Ending.powerOff.happen(to: base.kernel, adapter: index)
            case .block: Ending.block.happen(to: base.kernel, adapter: index)
            case .unplug: Ending.unplug.happen(to: base.kernel, adapter: index)
            case .close: await base.peripheral.close()
            case .disconnect: await connection.disconnect()
            case .loss: base.base.radio.breakLink(base.address, base.central.information.address)
            }
        }

        /// What makes the calls wait.
        func hinder(_ wait: Wait, _ isHindered: Bool) {
            switch wait {
            case .notifyOne, .notifyAll:
                base.kernel.setSending(!isHindered, adapter: 0, to: base.central.information.address)
            case .indicateOne, .indicateAll:
                base.others[0].setSending(!isHindered, adapter: 0)
            case .advertise, .update: base.kernel.setSilent(isHindered, for: .addExtendedAdvertisingData)
            case .stop, .removeForeign: base.kernel.setSilent(isHindered, for: .removeAdvertising)
            default: break
            }
        }
    }

    @Test(arguments: Wait.allCases) func everyWaitEndsInEveryWay(_ wait: Wait) async throws {
        for end in End.allCases {
            try await Self.run { fixture in
                fixture.hinder(wait, true)
                let task = fixture.base.base.begin { try await fixture.run(wait) }
                // The streams have told what there was.
                try await fixture.base.base.radio.sleep(for: .seconds(1))
                let start = fixture.base.base.radio.now
                let ending = fixture.base.base.begin { await fixture.end(end, task) }
                if wait.isEnded(by: end) {
                    // A hang here is told by the simulation, which knows that nothing will happen any more.
                    let ended = await task.result.failure
                    if let error = ended, !(error is CancellationError) { _ = try #require(error as? BluetoothError) }
                    if wait.isOnLink, end != .cancel {
                        let code = try #require(ended as? BluetoothError, "\(end)").code
                        #expect(code != .timedOut, "\(end)")
                    }
                }
                try await ending.value
                let time = start.duration(to: fixture.base.base.radio.now)
                // Whatever is told to the kernel has 10 s, and is asked for again.
                #expect(time <= .seconds(12), "\(end)")
                task.cancel()
                fixture.hinder(wait, false)
                try await fixture.worksAgain(after: end)
            }
        }
    }

    private static func run(_ body: @escaping @Sendable (EndingFixture) async throws -> Void) async throws {
        let controller = SimulatedController(address: BluetoothAddress(0x00AA_0100_0042, kind: .public))
        try await PeripheralFixture.run(controller) { fixture in
            let published = try await fixture.peripheral.publish([PeripheralFixture.service])
            let incoming = try await fixture.peripheral.incomingConnections()
            let options = AdvertisingOptions(whenAdapterUnavailable: .resume)
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content, options: options)
            let connection = try await fixture.connect()
            let value = try await connection.found(0xFFF1, in: 0xFFF0)
            let configuration = try #require(value.descriptor(.clientCharacteristicConfiguration))
            try await connection.write([3, 0], to: configuration)
            let accepted = try #require(incoming.connections.first)
            try await body(
                EndingFixture(
                    base: fixture, published: published, incoming: incoming, set: set, connection: connection,
                    accepted: accepted))
        }
    }
}

extension PeripheralEndingTests.EndingFixture {
    /// The machine serves as if nothing had been, with the same adapter object where that is still open.
    fileprivate func worksAgain(after end: PeripheralEndingTests.End) async throws {
        await connection.disconnect()
        // Kernels keep links for two seconds.
        try await base.base.settle {
            base.kernel.links(adapter: 0).isEmpty && base.others[0].links(adapter: 0).isEmpty
        }
        let index = base.peripheral.information.index
        switch end {
        case .block:
            base.kernel.setRadioSwitch(adapter: index)
            base.kernel.setPowered(true, adapter: index)
        case .powerOff: base.kernel.setPowered(true, adapter: index)
        case .unplug:
            base.kernel.plug(SimulatedController(address: BluetoothAddress(0x00AA_0100_0042, kind: .public)))
        case .cancel, .close, .disconnect, .loss: break
        }
        let adapter = end == .close ? try await Adapter.open(on: base.kernel) : base.peripheral
        try await adapter.ready(timeout: .seconds(30))
        // A kernel that did not answer when it was told to stop.
        if end == .close { try await adapter.removeForeignAdvertising() }
        await set.close()
        incoming.close()
        await published.close()
        try await base.base.settle { incoming.connections.isEmpty }
        let service = try await adapter.publish([PeripheralFixture.service])
        let links = try await adapter.incomingConnections()
        let again = try await adapter.advertise(PeripheralFixture.content)
        let second = try await base.connect()
        let value = try await second.found(0xFFF1, in: 0xFFF0)
        let values = try await second.subscribe(to: value, kind: .indication)
        let deliveries = try await service.indicate([9], of: try #require(service.handle(of: 0xFFF1)))
        #expect(deliveries.count == 1)
        for delivery in deliveries { try delivery.result.get() }
        var iterator = values.makeAsyncIterator()
        #expect(try await iterator.next() == [9])
        await second.disconnect()
        await again.close()
        try await base.base.settle { await base.instances(of: adapter) == [] }
        links.close()
        if end == .close { await adapter.close() }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
