// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableExperimentalFeature("Lifetimes"),
]

/// Tests are more than half of the code and need no optimisation; what they test has it in release builds.
let unoptimised = SwiftSetting.unsafeFlags(["-Onone"], .when(configuration: .release))
let testSettings = settings + [unoptimised]

/// One floor of the house: a folder below Sources, mostly with its own folder below Tests.
func floor(_ name: String, on dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(of name: String, with dependencies: [Target.Dependency] = [], path: String? = nil) -> Target {
    .testTarget(
        name: path == nil ? "\(name)Tests" : name,
        dependencies: (path == nil ? [.init(stringLiteral: name)] : []) + ["TestSupport"] + dependencies,
        path: path,
        exclude: path == nil ? [] : ["README.md"],
        swiftSettings: testSettings)
}

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

// Apple's systems have a CoreBluetooth of their own, with which the same code is built there.
#if os(Linux)
    let coreBluetoothProducts: [Product] = [.library(name: "CoreBluetooth", targets: ["CoreBluetooth"])]
    let coreBluetoothTargets: [Target] = [
        .target(name: "CCoreBluetooth"),
        .target(
            name: "CoreBluetooth",
            dependencies: [
                "CCoreBluetooth", "BluetoothLE", "BluetoothLoop", "KernelHost", "SimulatedKernel", "SimulatedLINBLE",
                log,
            ],
            swiftSettings: settings + [.enableUpcomingFeature("InternalImportsByDefault")]),
        .target(
            name: "CoreBluetoothTestSupport", dependencies: ["CoreBluetooth", "TestSupport"],
            path: "Tests/CoreBluetoothTestSupport", swiftSettings: testSettings),
        tests(of: "CoreBluetooth", with: ["CoreBluetoothTestSupport", "SimulatedKernel", "SimulatedLINBLE"]),
        tests(
            of: "Peers", with: ["BluetoothLE", "LinuxKernel", "CoreBluetooth", "CoreBluetoothTestSupport"],
            path: "Tests/Peers"),
        .executableTarget(
            name: "CoreBluetoothCentral", dependencies: ["CoreBluetooth"], path: "Examples/CoreBluetoothCentral",
            exclude: ["world.json"], swiftSettings: settings),
        .executableTarget(
            name: "CoreBluetoothPeripheral", dependencies: ["CoreBluetooth"], path: "Examples/CoreBluetoothPeripheral",
            swiftSettings: settings),
        // Programs as they are written today, in the language mode that most of them have.
        .testTarget(
            name: "CoreBluetoothSnippetTests",
            dependencies: [
                "CoreBluetooth", "CoreBluetoothCentral", "CoreBluetoothPeripheral", "BluetoothLE", "SimulatedKernel",
                "SimulatedLINBLE", "TestSupport",
            ],
            swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error), unoptimised]),
    ]
#else
    let coreBluetoothProducts: [Product] = []
    let coreBluetoothTargets: [Target] = []
#endif

let package = Package(
    name: "swift-bluetooth-le",
    products: [
        .library(name: "BluetoothLE", targets: ["BluetoothLE"]),
        .library(name: "BluetoothSecurity", targets: ["BluetoothSecurity"]),
        .library(name: "LINBLE", targets: ["LINBLE"]),
        .library(name: "SimulatedKernel", targets: ["SimulatedKernel"]),
        .library(name: "SimulatedLINBLE", targets: ["SimulatedLINBLE"]),
    ] + coreBluetoothProducts,
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        // Pure: values and state machines. No I/O, no clock, no Foundation.
        floor("BluetoothPrimitives"),
        floor("ATT", on: ["BluetoothPrimitives"]),
        floor("BluetoothCryptography"),
        floor("GATT", on: ["ATT", "BluetoothPrimitives", "BluetoothCryptography"]),
        floor("HCI", on: ["BluetoothPrimitives"]),
        floor("Advertising", on: ["BluetoothPrimitives"]),
        floor("Management", on: ["BluetoothPrimitives"]),
        floor("Capture", on: ["BluetoothPrimitives", "HCI", "Management"]),

        // What of the operating system is not Bluetooth: files, threads, the clock.
        .systemLibrary(name: "CBluetoothSockets", path: "Sources/CBluetoothSockets"),
        floor("BluetoothSystem", on: ["BluetoothPrimitives", "CBluetoothSockets"]),

        // The loop, and the host seam: what a Bluetooth host does, in the words of the specification.
        floor("BluetoothLoop", on: ["BluetoothPrimitives"]),
        floor("BluetoothHost", on: ["BluetoothLoop", "BluetoothPrimitives", "ATT", "HCI", "Advertising", log]),

        // The kernel seam, and the two kernels below it.
        floor("BluetoothKernel", on: ["BluetoothLoop", "BluetoothPrimitives"]),
        floor("LinuxKernel", on: ["BluetoothKernel", "BluetoothPrimitives", "BluetoothSystem", "CBluetoothSockets"]),
        floor(
            "SimulatedKernel",
            on: [
                "BluetoothKernel", "BluetoothPrimitives", "BluetoothCryptography", "ATT", "GATT", "HCI", "Advertising",
                "Management", "Capture",
            ]),

        // The Linux kernel as a Bluetooth host; all that Linux does oddly.
        floor(
            "KernelHost",
            on: [
                "BluetoothHost", "BluetoothKernel", "BluetoothLoop", "BluetoothPrimitives", "LinuxKernel", "ATT", "HCI",
                "Advertising", "Management", "Capture", log,
            ]),

        // What programs import.
        floor(
            "BluetoothLE",
            on: [
                "BluetoothHost", "BluetoothKernel", "BluetoothLoop", "BluetoothPrimitives", "BluetoothSystem",
                "BluetoothCryptography", "KernelHost", "ATT", "GATT", "HCI", "Advertising", "Capture",
                log,
            ]),
        // A name for programs that import it; re-exports BluetoothLE.
        floor("BluetoothSecurity", on: ["BluetoothLE"]),
        floor("LINBLE", on: ["BluetoothLE"]),
        floor("SimulatedLINBLE", on: ["LINBLE", "SimulatedKernel"]),

        // Programs.
        .systemLibrary(name: "CTerminal", path: "Examples/CTerminal"),
        .target(
            name: "ExampleSupport",
            dependencies: ["BluetoothLE", "LINBLE", "SimulatedLINBLE", "CTerminal", arguments, log],
            path: "Examples/ExampleSupport", swiftSettings: settings),
        .executableTarget(name: "ble", dependencies: ["ExampleSupport"], path: "Examples/ble", swiftSettings: settings),
        .executableTarget(
            name: "linble", dependencies: ["ExampleSupport"], path: "Examples/linble", swiftSettings: settings),

        // The README's.
        .executableTarget(
            name: "FirstProgram", dependencies: ["BluetoothLE"], path: "Examples/FirstProgram", swiftSettings: settings),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "BluetoothHost", "BluetoothKernel", "BluetoothPrimitives", "KernelHost", "Management",
                "SimulatedKernel", log,
            ],
            path: "Tests/TestSupport", swiftSettings: testSettings),
        tests(of: "BluetoothPrimitives"),
        tests(of: "ATT"),
        tests(of: "BluetoothCryptography"),
        tests(of: "GATT"),
        tests(of: "HCI"),
        tests(of: "Advertising"),
        tests(of: "Management"),
        tests(of: "Capture", with: ["HCI", "Management", "BluetoothPrimitives"]),
        tests(of: "BluetoothSystem"),
        tests(of: "BluetoothHost", with: ["BluetoothPrimitives", "HCI"]),
        tests(of: "BluetoothLoop"),
        tests(of: "BluetoothKernel"),
        tests(of: "LinuxKernel"),
        tests(of: "SimulatedKernel"),
        tests(of: "KernelHost", with: ["SimulatedKernel"]),
        tests(of: "BluetoothLE", with: ["KernelHost", "Management", "SimulatedKernel"]),
        tests(of: "BluetoothSecurity"),
        tests(of: "LINBLE", with: ["SimulatedKernel", "SimulatedLINBLE"]),
        tests(of: "ExampleSupport"),
        .testTarget(
            name: "GuideTests",
            dependencies: [
                "BluetoothLE", "BluetoothSystem", "Capture", "HCI", "LINBLE", "Management", "SimulatedKernel",
                "SimulatedLINBLE", "TestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "ProgramTests", dependencies: ["ble", "linble", "ExampleSupport", arguments],
            path: "Tests/ProgramTests",
            exclude: ["explore.txt"], swiftSettings: testSettings),
        tests(
            of: "Conformance",
            with: [
                "LinuxKernel", "SimulatedKernel", "KernelHost", "BluetoothHost", "BluetoothLoop", "Advertising",
                "BluetoothCryptography", "GATT", "HCI", "Management", "Capture", log,
            ],
            path: "Tests/Conformance"),
    ] + coreBluetoothTargets
)
