import BluetoothAdvertising
import TestSupport
import Testing

import BluetoothLE

/// One line of a table: what a device says, a filter, and whether it passes.
struct FilterCase: Sendable, CustomTestStringConvertible {
    var name: String
    var filter: ScanFilter
    var advertising: String
    var scanResponse = ""
    var rssi: Int? = -50
    var isConnectable = true
    var address: BluetoothAddress? = BluetoothAddress(0xC098_E512_3456, kind: .public)
    var passes: Bool

    var testDescription: String { name }

    var advertisement: Advertisement {
        Advertisement(
            address: address,
            data: AdvertisementData(advertising: hex(advertising), scanResponse: hex(scanResponse)), rssi: rssi,
            transmitPower: nil, isConnectable: isConnectable, isScannable: true, isScanResponse: false, isLegacy: true,
            isDirected: false, directAddress: nil, isTruncated: false, primaryPHY: .le1M, secondaryPHY: nil,
            advertisingSetID: nil, periodicAdvertisingInterval: nil, time: KernelInstant(nanoseconds: 0))
    }
}

@Suite struct ScanFilterTests {
    // Services 0x180D and 0x180F, the name "Ab", data 01 02 03 of the company 0x004C.
    static let heart = "0201060303 0D18"
    static let long = "1107 FB349B5F80000080001000000D180000"
    static let wide = "0505 0D180000"
    static let solicits = "0314 0D18"
    static let solicitsLong = "1115 FB349B5F80000080001000000D180000"
    static let named = "03094162"
    static let shortened = "03084162"
    static let apple = "06FF4C00010203"

    static let services: [FilterCase] = [
        FilterCase(name: "16 by 16", filter: .service(0x180D), advertising: heart, passes: true),
        FilterCase(
            name: "16 by 128", filter: .service("0000180D-0000-1000-8000-00805F9B34FB"), advertising: heart,
            passes: true),
        FilterCase(name: "128 by 16", filter: .service(0x180D), advertising: long, passes: true),
        FilterCase(name: "32 by 16", filter: .service(0x180D), advertising: wide, passes: true),
        FilterCase(name: "another", filter: .service(0x180F), advertising: heart, passes: false),
        FilterCase(
            name: "in the scan response", filter: .service(0x180D), advertising: "020106", scanResponse: heart,
            passes: true),
        FilterCase(name: "one of several", filter: .services([0x180F, 0x180D]), advertising: heart, passes: true),
        FilterCase(name: "none of several", filter: .services([0x180F, 0x1810]), advertising: heart, passes: false),
        FilterCase(name: "one of none", filter: .services([]), advertising: heart, passes: false),
        FilterCase(name: "half an identifier", filter: .service(0x180D), advertising: "02030D", passes: false),
        FilterCase(name: "a list that runs over", filter: .service(0x180D), advertising: "09030D18", passes: false),
        FilterCase(name: "solicited is not offered", filter: .service(0x180D), advertising: solicits, passes: false),
        FilterCase(name: "solicited", filter: .solicitedService(0x180D), advertising: solicits, passes: true),
        FilterCase(name: "solicited, 128", filter: .solicitedService(0x180D), advertising: solicitsLong, passes: true),
        FilterCase(
            name: "offered is not solicited", filter: .solicitedService(0x180D), advertising: heart, passes: false),
        FilterCase(name: "service data", filter: .serviceData(0x180D), advertising: "04160D1801", passes: true),
        FilterCase(name: "another's data", filter: .serviceData(0x180F), advertising: "04160D1801", passes: false),
        FilterCase(
            name: "a beginning of service data", filter: .serviceData(0x180D, data: [1]), advertising: "05160D180102",
            passes: true),
        FilterCase(
            name: "another beginning of service data", filter: .serviceData(0x180D, data: [2]),
            advertising: "05160D180102", passes: false),
        FilterCase(
            name: "another service's beginning", filter: .serviceData(0x180F, data: [1]), advertising: "05160D180102",
            passes: false),
        FilterCase(
            name: "longer than the service data", filter: .serviceData(0x180D, data: [1, 2, 3]),
            advertising: "05160D180102", passes: false),
        FilterCase(
            name: "masked service data of a 128-bit UUID",
            filter: .serviceData(0x180D, data: [0xF1, 3], mask: [0x0F, 0xFE]),
            advertising: "1321FB349B5F80000080001000000D1800000102", passes: true),
        FilterCase(
            name: "masked service data that differs", filter: .serviceData(0x180D, data: [0xF1, 3], mask: [0x0F]),
            advertising: "05160D180102", passes: false),
    ]

    static let names: [FilterCase] = [
        FilterCase(name: "exact", filter: .name("Ab"), advertising: named, passes: true),
        FilterCase(name: "shortened", filter: .name("Ab"), advertising: shortened, passes: true),
        FilterCase(name: "case counts", filter: .name("AB"), advertising: named, passes: false),
        FilterCase(name: "longer", filter: .name("Abc"), advertising: named, passes: false),
        FilterCase(name: "shorter", filter: .name("A"), advertising: named, passes: false),
        FilterCase(
            name: "in the scan response", filter: .name("Ab"), advertising: "020106", scanResponse: named, passes: true),
        FilterCase(name: "padded with zeros", filter: .name("Ab"), advertising: "050941620000", passes: true),
        FilterCase(name: "no name", filter: .name(""), advertising: "020106", passes: false),
        FilterCase(name: "the empty name", filter: .name(""), advertising: "0109", passes: true),
        FilterCase(name: "prefix", filter: .namePrefix("A"), advertising: named, passes: true),
        FilterCase(name: "not the prefix", filter: .namePrefix("b"), advertising: named, passes: false),
        FilterCase(name: "contained", filter: .nameContaining("b"), advertising: named, passes: true),
        FilterCase(name: "contained, case counts", filter: .nameContaining("B"), advertising: named, passes: false),
        FilterCase(
            name: "contained, any case", filter: .nameContaining("aB", ignoringCase: true), advertising: named,
            passes: true),
        FilterCase(name: "longer than the name", filter: .nameContaining("Abc"), advertising: named, passes: false),
        FilterCase(name: "empty in a name", filter: .nameContaining(""), advertising: named, passes: true),
        FilterCase(name: "empty in no name", filter: .nameContaining(""), advertising: "020106", passes: false),
        FilterCase(
            name: "letters outside ASCII", filter: .nameContaining("É", ignoringCase: true), advertising: "0309C389",
            passes: true),
    ]

    static let others: [FilterCase] = [
        FilterCase(name: "all", filter: .any, advertising: "", passes: true),
        FilterCase(
            name: "address", filter: .address(BluetoothAddress(0xC098_E512_3456, kind: .public)), advertising: "",
            passes: true),
        FilterCase(
            name: "another kind", filter: .address(BluetoothAddress(0xC098_E512_3456, kind: .random)), advertising: "",
            passes: false),
        FilterCase(
            name: "any kind", filter: .address(BluetoothAddress(0xC098_E512_3456, kind: .random), anyKind: true),
            advertising: "", passes: true),
        FilterCase(
            name: "anonymous", filter: .address(BluetoothAddress(0xC098_E512_3456, kind: .public)), advertising: "",
            address: nil, passes: false),
        FilterCase(name: "strong", filter: .rssi(atLeast: -50), advertising: "", passes: true),
        FilterCase(name: "weak", filter: .rssi(atLeast: -49), advertising: "", passes: false),
        FilterCase(name: "unknown strength", filter: .rssi(atLeast: -127), advertising: "", rssi: nil, passes: false),
        FilterCase(name: "company", filter: .manufacturer(.apple), advertising: apple, passes: true),
        FilterCase(name: "another company", filter: .manufacturer(.microsoft), advertising: apple, passes: false),
        FilterCase(name: "beginning", filter: .manufacturer(.apple, data: [1, 2]), advertising: apple, passes: true),
        FilterCase(name: "whole", filter: .manufacturer(.apple, data: [1, 2, 3]), advertising: apple, passes: true),
        FilterCase(
            name: "longer than the data", filter: .manufacturer(.apple, data: [1, 2, 3, 4]), advertising: apple,
            passes: false),
        FilterCase(
            name: "another beginning", filter: .manufacturer(.apple, data: [1, 3]), advertising: apple, passes: false),
        FilterCase(
            name: "masked", filter: .manufacturer(.apple, data: [0xF1, 3], mask: [0x0F, 0xFE]), advertising: apple,
            passes: true),
        FilterCase(
            name: "a short mask", filter: .manufacturer(.apple, data: [0xF1, 3], mask: [0x0F]), advertising: apple,
            passes: false),
        FilterCase(
            name: "an empty mask", filter: .manufacturer(.apple, data: [1], mask: []), advertising: apple, passes: true),
        FilterCase(
            name: "in the second of two", filter: .manufacturer(.apple, data: [9]), advertising: apple + "04FF4C0009",
            passes: true),
        FilterCase(name: "half a company", filter: .manufacturer(.apple), advertising: "02FF4C", passes: false),
        FilterCase(name: "connectable", filter: .connectable, advertising: "", passes: true),
        FilterCase(name: "not connectable", filter: .connectable, advertising: "", isConnectable: false, passes: false),
        FilterCase(name: "predicate", filter: .matching { $0.rssi == -50 }, advertising: "", passes: true),
    ]

    static let combined: [FilterCase] = [
        FilterCase(
            name: "both", filter: .service(0x180D) && .name("Ab"), advertising: heart, scanResponse: named, passes: true
        ),
        FilterCase(name: "one of both", filter: .service(0x180D) && .name("Ab"), advertising: heart, passes: false),
        FilterCase(name: "either", filter: .service(0x180F) || .service(0x180D), advertising: heart, passes: true),
        FilterCase(name: "neither", filter: .service(0x180F) || .name("x"), advertising: heart, passes: false),
        FilterCase(name: "not", filter: !.name("Ab"), advertising: heart, passes: true),
        FilterCase(name: "not not", filter: !(!.name("Ab")), advertising: heart, passes: false),
        FilterCase(name: "every of none", filter: .allOf([]), advertising: "", passes: true),
        FilterCase(name: "any of none", filter: .anyOf([]), advertising: "", passes: false),
        FilterCase(
            name: "and binds closer", filter: .name("x") && .rssi(atLeast: 0) || .service(0x180D), advertising: heart,
            passes: true),
        FilterCase(
            name: "the right one is not asked", filter: .name("x") && .matching { _ in fatalError() },
            advertising: heart, passes: false),
    ]

    @Test(arguments: services + names + others + combined) func theTable(_ line: FilterCase) {
        #expect(line.filter.matches(line.advertisement) == line.passes)
    }

    @Test func noBytesCanMakeAFilterTrap() {
        let filter: ScanFilter =
            .anyOf([
                .service(0x180D), .solicitedService(0x180D), .serviceData(0x180D), .name("Ab"), .namePrefix("Ab"),
                .nameContaining("b"), .manufacturer(.apple, data: [1, 2], mask: [0xFF]),
            ])
        var line = FilterCase(name: "", filter: filter, advertising: "", passes: false)
        for vector in [Self.heart, Self.long, Self.solicits, Self.named, Self.apple] {
            for bytes in mutations(of: hex(vector)) {
                line.advertising = bytes.hexadecimal
                _ = filter.matches(line.advertisement)
            }
        }
    }
}
