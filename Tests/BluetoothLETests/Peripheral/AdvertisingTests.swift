import BluetoothAdvertising
import BluetoothHCI
import BluetoothManagement
import BluetoothSimulation
import TestSupport
import Testing

import BluetoothLE

/// Advertising, as others hear it.
@Suite struct AdvertisingTests {
    @Test(arguments: [HCICommandFamily.extended, .legacy])
    func whatIsAdvertisedIsHeardUntilItIsStopped(_ family: HCICommandFamily) async throws {
        try await PeripheralFixture.run(SimulatedController(family: family)) { fixture in
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(set.state == .advertising)
            #expect(set.instance == 1)
            let heard = try #require(await fixture.isHeard())
            #expect(heard.data.localName == "served")
            #expect(heard.data.services == [0xFFF0])
            #expect(heard.data.flags?.contains(.leGeneralDiscoverable) == true)
            #expect(heard.isConnectable)
            await set.close()
            #expect(await fixture.instances() == [])
            guard let reason = set.state.closed else {
                Issue.record("\(set.state)")
                return
            }
            #expect(reason.code == .cancelled)
            #expect(await set.closed() == reason)
            #expect(await fixture.isHeard() == nil)
            await set.close()
            #expect(await failure { try await set.update(PeripheralFixture.content) }?.code == .cancelled)
        }
    }

    @Test func whatDoesNotFitGoesIntoTheScanResponseAndIsToldOtherwise() async throws {
        try await PeripheralFixture.run { fixture in
            let services: [BluetoothUUID] = ["27ADC9CA-35EB-465A-9154-B8FF9076F3E8"]
            let set = try await fixture.peripheral.advertise(
                AdvertisementContent(localName: "a name of 24 characters!", services: services, appearance: .keyboard))
            #expect(set.payloads.advertising.count == 18 + 4)
            #expect(set.payloads.scanResponse.count == 26)
            let heard = try #require(await fixture.isHeard { $0.data.localName != nil })
            #expect(heard.data.services == services)
            #expect(heard.data.localName == "a name of 24 characters!")
            await set.close()

            // Twice 18 bytes and a company's data: the second list has its place in the scan response, the data none.
            var content = AdvertisementContent(
                services: services,
                manufacturerData: [ManufacturerData(company: .apple, data: [UInt8](repeating: 1, count: 26))])
            content.fields.append(.solicitedServices(services))
            content.fields.swapAt(1, 2)
            let error = await failure { _ = try await fixture.peripheral.advertise(content) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("Manufacturer") == true, "\(error?.message ?? "")")
            #expect(await fixture.instances() == [])
            content.overflow = .leaveOut
            let part = try await fixture.peripheral.advertise(content)
            #expect(part.payloads.leftOver.map(\.field.type) == [.manufacturerSpecificData])
            withExtendedLifetime(part) {}
        }
    }

    @Test func releasingTheTokenStops() async throws {
        try await PeripheralFixture.run { fixture in
            var set: AdvertisingSet? = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(set?.instance == 1)
            #expect(await fixture.instances() == [1])
            set = nil
            try await fixture.base.settle { await fixture.instances() == [] }
        }
    }

    @Test func itLastsAsLongAsTheClosure() async throws {
        struct Stop: Error {}
        try await PeripheralFixture.run { fixture in
            let heard = try await fixture.peripheral.withAdvertising(PeripheralFixture.content) { _ in
                await fixture.isHeard() != nil
            }
            #expect(heard)
            #expect(await fixture.instances() == [])
            let error = await failure {
                try await fixture.peripheral.withAdvertising(PeripheralFixture.content) { _ in throw Stop() }
            }
            #expect(error?.underlyingError is Stop)
            #expect(await fixture.instances() == [])
            let waiting = fixture.base.begin {
                try await fixture.peripheral.withAdvertising(PeripheralFixture.content) { set in await set.closed() }
            }
            try await fixture.base.settle { await fixture.instances() == [1] }
            waiting.cancel()
            #expect(try await waiting.value.code == .cancelled)
            #expect(await fixture.instances() == [])
        }
    }

    @Test func severalAreOnAtATimeUntilThereAreNoMore() async throws {
        try await PeripheralFixture.run { fixture in
            var sets: [AdvertisingSet] = []
            for number in 0..<3 {
                let content = AdvertisementContent(localName: "set \(number)")
                sets.append(
                    try await fixture.peripheral.advertise(content, options: AdvertisingOptions(kind: .nonConnectable)))
            }
            #expect(sets.map(\.instance) == [1, 2, 3])
            for number in 0..<3 {
                let heard = try #require(await fixture.isHeard { $0.data.localName == "set \(number)" })
                #expect(!heard.isConnectable)
            }
            let error = await failure { _ = try await fixture.peripheral.advertise(PeripheralFixture.content) }
            #expect(error?.code == .busy)
            #expect(error?.message.contains("this program has 3 of them") == true)
            await sets[1].close()
            let next = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(next.instance == 2)
            withExtendedLifetime((sets, next)) {}
        }
    }

    @Test func theInstancesOfOthersAreLeftAloneUnlessAsked() async throws {
        try await PeripheralFixture.run { fixture in
            // A program that was killed left this.
            try await fixture.peripheral.sendToManagement(
                ManagementAddAdvertising(instance: 1, flags: .connectable), to: 0)
            let set = try await fixture.peripheral.advertise(PeripheralFixture.content)
            #expect(set.instance == 2)
            #expect(await fixture.instances() == [1, 2])
            #expect(try await fixture.peripheral.removeForeignAdvertising() == 1)
            // The kernel lists no number above the number of instances.
            #expect(await fixture.instances() == [])
            #expect(set.state == .advertising)
            #expect(await fixture.isHeard() != nil)
            await set.close()
            #expect(await fixture.instances() == [])
        }
    }

    @Test func contentIsChangedOnTheAir() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(AdvertisementContent(localName: "before"))
            #expect(await fixture.isHeard { $0.data.localName == "before" } != nil)
            try await set.update(AdvertisementContent(localName: "after"))
            #expect(await fixture.isHeard { $0.data.localName == "after" } != nil)
            let tooMuch = AdvertisementContent(
                manufacturerData: [ManufacturerData(company: .apple, data: [UInt8](repeating: 0, count: 30))])
            #expect(await failure { try await set.update(tooMuch) }?.code == .invalidArgument)
            #expect(set.state == .advertising)
            #expect(await fixture.isHeard { $0.data.localName == "after" } != nil)
            #expect(set.instance == 1)
        }
    }

    @Test(arguments: [
        (AdvertisingOptions.Kind.connectable, AdvertisingOptions.Format.legacy, true, true),
        (.scannable, .legacy, false, true), (.nonConnectable, .legacy, false, false),
        (.connectable, .extended(.le1M), true, false), (.scannable, .extended(.le2M), false, true),
        (.nonConnectable, .extended(.le2M), false, false),
    ])
    func eachKindIsWhatItSays(
        _ kind: AdvertisingOptions.Kind, _ format: AdvertisingOptions.Format, _ isConnectable: Bool, _ isScannable: Bool
    ) async throws {
        try await PeripheralFixture.run { fixture in
            var content = AdvertisementContent(localName: "kind")
            if kind == .scannable { content.discoverability = .none }
            if kind == .scannable || (kind == .connectable && format == .legacy) {
                content.scanResponse = [.appearance(.keyboard)]
            }
            let set = try await fixture.peripheral.advertise(
                content, options: AdvertisingOptions(kind: kind, format: format))
            let heard = try #require(
                await fixture.isHeard {
                    $0.data.localName == "kind" && (!isScannable || $0.data.appearance != nil)
                })
            #expect(heard.isConnectable == isConnectable)
            #expect(heard.data.appearance == (isScannable ? .keyboard : nil))
            await set.close()
        }
    }

    @Test func extendedOnesHaveRoomForMore() async throws {
        try await PeripheralFixture.run { fixture in
            let data = [UInt8](repeating: 9, count: 240)
            let content = AdvertisementContent(manufacturerData: [ManufacturerData(company: .apple, data: data)])
            let set = try await fixture.peripheral.advertise(
                content, options: AdvertisingOptions(kind: .nonConnectable, format: .extended(.le2M)))
            let heard = try #require(await fixture.isHeard())
            #expect(heard.data.manufacturerData(for: .apple) == data)
            withExtendedLifetime(set) {}
        }
    }

    @Test func whatCannotBeIsRefused() async throws {
        try await PeripheralFixture.run(SimulatedController(family: .legacy)) { fixture in
            let extended = AdvertisingOptions(format: .extended(.le1M))
            let power = AdvertisingOptions(transmitPower: 4)
            let tooMuchPower = AdvertisingOptions(transmitPower: 200)
            let tooFast = AdvertisingOptions(interval: .milliseconds(10) ... .milliseconds(20))
            let tooSlow = AdvertisingOptions(interval: .seconds(1) ... .seconds(11))
            let deaf = AdvertisingOptions(kind: .nonConnectable)
            let answering = AdvertisementContent(fields: [], scanResponse: [.appearance(.keyboard)])
            let flags = AdvertisementContent(fields: [.flags(.brEDRNotSupported)])
            let cases: [(AdvertisementContent, AdvertisingOptions, BluetoothError.Code)] = [
                (PeripheralFixture.content, extended, .unsupported), (PeripheralFixture.content, power, .unsupported),
                (PeripheralFixture.content, tooMuchPower, .invalidArgument),
                (PeripheralFixture.content, tooFast, .invalidArgument),
                (PeripheralFixture.content, tooSlow, .invalidArgument),
                (answering, deaf, .invalidArgument), (flags, AdvertisingOptions(), .invalidArgument),
            ]
            for (content, options, code) in cases {
                let error = await failure { _ = try await fixture.peripheral.advertise(content, options: options) }
                #expect(error?.code == code, "\(String(describing: error))")
            }
            #expect(await fixture.instances() == [])
        }
    }

    /// Whatever a program says, it is told what does not fit.
    @Test func whatIsFarTooMuchIsRefused() async throws {
        try await PeripheralFixture.run { fixture in
            let huge = [UInt8](repeating: 1, count: 70_000)
            let contents = [
                AdvertisementContent(
                    localName: String(repeating: "é", count: 5000),
                    services: (0..<5000).map { BluetoothUUID(UInt16($0)) }),
                AdvertisementContent(manufacturerData: [ManufacturerData(company: .apple, data: huge)]),
                AdvertisementContent(serviceData: [ServiceData(service: 0xFFF0, data: huge)]),
                AdvertisementContent(fields: [], scanResponse: [.other(ADType(rawValue: 0x77), huge)]),
                AdvertisementContent(
                    fields: (0..<3000).map { .other(ADType(rawValue: UInt8(truncatingIfNeeded: $0)), []) }),
            ]
            for content in contents {
                for format in [AdvertisingOptions.Format.legacy, .extended(.le1M), .extended(LEPHY(rawValue: 0x77))] {
                    let error = await failure {
                        _ = try await fixture.peripheral.advertise(content, options: AdvertisingOptions(format: format))
                    }
                    #expect(error?.code == .invalidArgument, "\(format)")
                }
                // As much as fits, on request; the rest is told.
                var leavingOut = content
                leavingOut.overflow = .leaveOut
                if let set = try? await fixture.peripheral.advertise(leavingOut) {
                    #expect(!set.payloads.leftOver.isEmpty)
                    #expect(set.payloads.advertising.count <= 31 && set.payloads.scanResponse.count <= 31)
                    await set.close()
                }
            }
            let intervals: [ClosedRange<Duration>] = [
                .zero ... .zero, .seconds(-1) ... .seconds(1), .zero ... .seconds(1),
                .milliseconds(20) ... .seconds(Int64.max), .seconds(Int64.min) ... .seconds(Int64.max),
            ]
            for interval in intervals {
                for format in [AdvertisingOptions.Format.legacy, .extended(.le1M)] {
                    let options = AdvertisingOptions(format: format, interval: interval)
                    let error = await failure {
                        _ = try await fixture.peripheral.advertise(PeripheralFixture.content, options: options)
                    }
                    #expect(error?.code == .invalidArgument, "\(interval)")
                }
            }
            for power in [Int.min, -128, 21, 127, 128, Int.max] {
                let options = AdvertisingOptions(transmitPower: power)
                let error = await failure {
                    _ = try await fixture.peripheral.advertise(PeripheralFixture.content, options: options)
                }
                #expect(error?.code == .invalidArgument, "\(power)")
            }
            #expect(await fixture.instances() == [])
        }
    }

    @Test func itNeedsAPrivilegeAndSaysSo() async throws {
        try await Fixture.run { fixture in
            fixture.kernel.hasNetAdmin = false
            let adapter = try await Adapter.open(on: fixture.kernel)
            let error = await failure { _ = try await adapter.advertise(PeripheralFixture.content) }
            #expect(error?.code == .notPermitted)
            #expect(error?.remedy?.contains("setcap") == true)
        }
    }

    @Test func theAddressAndThePowerAreTold() async throws {
        try await PeripheralFixture.run { fixture in
            let set = try await fixture.peripheral.advertise(
                AdvertisementContent(localName: "loud", includesTransmitPower: true),
                options: AdvertisingOptions(transmitPower: 7))
            #expect(set.transmitPower == 7)
            let heard = try #require(await fixture.isHeard())
            #expect(heard.data.txPowerLevel == 7)
            withExtendedLifetime(set) {}
        }
    }

    @Test func advertisingThatOthersHaveTakenIsToBeCleared() async throws {
        try await Fixture.run([SimulatedController()]) { fixture in
            let others = try await Adapter.open(on: fixture.kernel)
            let adapter = try await Adapter.open(on: fixture.kernel)
            var sets: [AdvertisingSet] = []
            let options = AdvertisingOptions(kind: .nonConnectable)
            var refusal: BluetoothError?
            while refusal == nil {
                do throws(BluetoothError) {
                    sets.append(try await others.advertise(AdvertisementContent(localName: "other"), options: options))
                } catch {
                    refusal = error
                }
            }
            #expect(refusal?.code == .busy)
            #expect(refusal?.remedy?.contains("removeForeignAdvertising()") == true)
            #expect(refusal?.remedy?.contains("sudo ble advertise --clear") == true)
            // Only those of programs that do not run any more.
            #expect(try await adapter.removeForeignAdvertising() == 0)
            await others.close()
            _ = try await adapter.advertise(AdvertisementContent(localName: "own"))
        }
    }
}
