// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableExperimentalFeature("Lifetimes"),
]

/// Tests are more than half of the code and need no optimisation; what they test has it in release builds. Few targets import
/// their modules, which are therefore not compiled twice, a first time for whoever waits for them.
let unoptimised = SwiftSetting.unsafeFlags(
    ["-Onone", "-no-emit-module-separately-wmo"], .when(configuration: .release))
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
    let coreBluetooth: [Target.Dependency] = ["CoreBluetooth"]
    let coreBluetoothProducts: [Product] = [.library(name: "CoreBluetooth", targets: ["CoreBluetooth"])]
    let coreBluetoothTargets: [Target] = [
        .target(name: "CCoreBluetooth"),
        .target(
            name: "CoreBluetooth",
            dependencies: [
                "CCoreBluetooth", "BluetoothLE", "BluetoothHost", "BluetoothATT", "BluetoothGATT", "BluetoothHCI",
                "BluetoothLoop", "BluetoothKernelHost", "BluetoothPrimitives", "BluetoothSimulation",
                "BluetoothSockets",
                "BluetoothSystem", log,
            ],
            swiftSettings: settings + [.enableUpcomingFeature("InternalImportsByDefault")]),
        .target(
            name: "CoreBluetoothTestSupport", dependencies: ["CoreBluetooth", "TestSupport"],
            path: "Tests/CoreBluetoothTestSupport", swiftSettings: testSettings),
        tests(of: "CoreBluetooth", with: ["CoreBluetoothTestSupport", "BluetoothSimulation", "LINBLESimulation"]),
        tests(
            of: "Peers",
            with: ["BluetoothLE", "BluetoothProfiles", "BluetoothLinux", "CoreBluetooth", "CoreBluetoothTestSupport"],
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
                "CoreBluetooth", "CoreBluetoothCentral", "CoreBluetoothPeripheral", "BluetoothLE",
                "BluetoothSimulation",
                "LINBLESimulation", "TestSupport",
            ],
            swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error), unoptimised]),
    ]
#else
    let coreBluetooth: [Target.Dependency] = []
    let coreBluetoothProducts: [Product] = []
    let coreBluetoothTargets: [Target] = []
#endif

// The main actor's executor is not public API of Swift's yet, and an older compiler has no way to replace it.
#if os(Linux) && compiler(>=6.3)
    let mainLoop: [Target.Dependency] = ["BluetoothMainLoop", "BluetoothLinux", "BluetoothLoop"]
    let mainLoopProducts: [Product] = [.library(name: "BluetoothMainLoop", targets: ["BluetoothMainLoop"])]
    let mainLoopTargets: [Target] = [
        .systemLibrary(name: "CBluetoothMainLoop", path: "Sources/CBluetoothMainLoop"),
        floor(
            "BluetoothMainLoop",
            on: ["BluetoothHost", "BluetoothLinux", "BluetoothLoop", "BluetoothSystem", "CBluetoothMainLoop"]),
    ]
#else
    let mainLoop: [Target.Dependency] = []
    let mainLoopProducts: [Product] = []
    let mainLoopTargets: [Target] = []
#endif

let package = Package(
    name: "swift-bluetooth-le",
    products: [
        .library(name: "BluetoothLE", targets: ["BluetoothLE"]),
        .library(name: "BluetoothAdvertising", targets: ["BluetoothAdvertising"]),
        .library(name: "BluetoothHCI", targets: ["BluetoothHCI"]),
        .library(name: "BluetoothGateway", targets: ["BluetoothGateway"]),
        .library(name: "BluetoothProfiles", targets: ["BluetoothProfiles"]),
        .library(name: "BluetoothServices", targets: ["BluetoothServices"]),
        .library(name: "LINBLE", targets: ["LINBLE"]),
        .library(name: "BluetoothSimulation", targets: ["BluetoothSimulation"]),
        .library(name: "LINBLESimulation", targets: ["LINBLESimulation"]),
    ] + coreBluetoothProducts + mainLoopProducts,
    traits: [
        .trait(
            name: "Services",
            description: "BluetoothServices: Bluetooth as services of swift-service-lifecycle, with swift-metrics."),
        .default(enabledTraits: []),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.7.0"),
        // With the trait alone.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    ],
    targets: [
        // Pure: values and state machines. No I/O, no clock, no Foundation.
        floor("BluetoothPrimitives"),
        floor("BluetoothATT", on: ["BluetoothPrimitives"]),
        floor("BluetoothCryptography"),
        floor("BluetoothGATT", on: ["BluetoothATT", "BluetoothPrimitives", "BluetoothCryptography"]),
        floor("BluetoothPackets", on: ["BluetoothPrimitives"]),
        floor("BluetoothHCI", on: ["BluetoothPrimitives", "BluetoothPackets"]),
        floor("BluetoothAdvertising", on: ["BluetoothPrimitives"]),
        floor("BluetoothManagement", on: ["BluetoothPrimitives", "BluetoothPackets", "BluetoothHCI"]),
        floor(
            "BluetoothCapture", on: ["BluetoothPrimitives", "BluetoothATT", "BluetoothHCI", "BluetoothManagement"]),

        // What of the operating system is not Bluetooth: files, threads, the clock.
        floor("BluetoothJSON"),
        .systemLibrary(name: "CBluetoothSockets", path: "Sources/CBluetoothSockets"),
        floor("BluetoothSystem", on: ["BluetoothPrimitives", "CBluetoothSockets"]),

        // The files that describe devices; not part of a product but the simulation's.
        floor(
            "BluetoothDeviceFile",
            on: [
                "BluetoothPrimitives", "BluetoothATT", "BluetoothGATT", "BluetoothAdvertising", "BluetoothJSON",
                "BluetoothSystem",
            ]),

        // The loop, and the host seam: what a Bluetooth host does, in the words of the specification.
        floor("BluetoothLoop", on: ["BluetoothPrimitives"]),
        floor(
            "BluetoothHost",
            on: ["BluetoothLoop", "BluetoothPrimitives", "BluetoothATT", "BluetoothHCI", "BluetoothAdvertising", log]),

        // The kernel seam, and the two kernels below it.
        floor("BluetoothSockets", on: ["BluetoothLoop", "BluetoothPrimitives"]),
        floor(
            "BluetoothLinux",
            on: ["BluetoothSockets", "BluetoothLoop", "BluetoothPrimitives", "BluetoothSystem", "CBluetoothSockets"]),
        floor(
            "BluetoothSimulation",
            on: [
                "BluetoothSockets", "BluetoothPrimitives", "BluetoothCryptography", "BluetoothATT", "BluetoothGATT",
                "BluetoothHCI", "BluetoothAdvertising",
                "BluetoothManagement", "BluetoothCapture", "BluetoothHost", "BluetoothDeviceFile", "BluetoothLoop",
                "BluetoothSystem",
            ]),

        // The Linux kernel as a Bluetooth host; all that Linux does oddly.
        floor(
            "BluetoothKernelHost",
            on: [
                "BluetoothHost", "BluetoothSockets", "BluetoothLoop", "BluetoothPrimitives", "BluetoothLinux",
                "BluetoothATT", "BluetoothHCI",
                "BluetoothAdvertising", "BluetoothManagement", "BluetoothCapture", log,
            ]),

        // What programs import.
        floor(
            "BluetoothLE",
            on: [
                "BluetoothHost", "BluetoothSockets", "BluetoothLoop", "BluetoothPrimitives", "BluetoothSystem",
                "BluetoothCryptography", "BluetoothKernelHost", "BluetoothATT", "BluetoothGATT", "BluetoothHCI",
                "BluetoothAdvertising", "BluetoothCapture",
                log,
            ]),
        floor(
            "BluetoothGateway",
            on: [
                "BluetoothLE", "BluetoothHost", "BluetoothSockets", "BluetoothLoop", "BluetoothPrimitives",
                "BluetoothAdvertising",
            ]),
        floor(
            "BluetoothProfiles",
            on: [
                "BluetoothLE", "BluetoothHost", "BluetoothLoop", "BluetoothPrimitives", "BluetoothATT", "BluetoothGATT",
                "BluetoothAdvertising", "BluetoothCryptography",
            ]),
        // Empty without the trait.
        floor(
            "BluetoothServices",
            on: [
                "BluetoothLE", "BluetoothHost", "BluetoothLoop", "BluetoothPrimitives", "BluetoothGATT", "LINBLE",
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Services"])
                ),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Services"])),
            ]),
        floor("LINBLE", on: ["BluetoothLE", "BluetoothHost", "BluetoothGATT", "BluetoothLoop", "BluetoothPrimitives"]),
        floor(
            "LINBLESimulation",
            on: [
                "LINBLE", "BluetoothLE", "BluetoothHost", "BluetoothSimulation", "BluetoothPrimitives",
                "BluetoothLoop", "BluetoothATT", "BluetoothGATT", "BluetoothAdvertising",
            ]),

        // Programs. Each names all modules whose values it stores, also those that BluetoothLE passes on: a module is
        // compiled anew only when one that it names has changed.
        .systemLibrary(name: "CTerminal", path: "Examples/CTerminal"),
        .target(
            name: "LINBLESample", dependencies: ["BluetoothLE", "BluetoothHost", "LINBLE", "LINBLESimulation"],
            path: "Examples/LINBLESample", swiftSettings: settings),
        .target(
            name: "ExampleSupport",
            dependencies: [
                "BluetoothLE", "BluetoothHost", "BluetoothGateway", "BluetoothAdvertising", "BluetoothDeviceFile",
                "BluetoothJSON", "BluetoothPrimitives", "BluetoothSimulation", "BluetoothSystem", "LINBLE",
                "BluetoothProfiles", "LINBLESample", "LINBLESimulation", "CTerminal", arguments, log,
            ],
            path: "Examples/ExampleSupport", swiftSettings: settings),
        .executableTarget(
            name: "ble",
            dependencies: [
                "ExampleSupport", "BluetoothLE", "BluetoothHost", "BluetoothAdvertising", "BluetoothATT",
                "BluetoothCapture", "BluetoothDeviceFile", "BluetoothGateway", "BluetoothJSON", "BluetoothHCI",
                "BluetoothPrimitives", "BluetoothProfiles", "BluetoothSimulation", "LINBLE", arguments,
            ],
            path: "Examples/ble", swiftSettings: settings),
        .executableTarget(
            name: "linble",
            dependencies: ["ExampleSupport", "BluetoothLE", "BluetoothHost", "LINBLE", "LINBLESample", arguments],
            path: "Examples/linble", swiftSettings: settings),

        // The README's.
        .executableTarget(
            name: "FirstProgram", dependencies: ["BluetoothLE", "BluetoothHost", "BluetoothSimulation"],
            path: "Examples/FirstProgram", swiftSettings: settings),

        // Tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "BluetoothHost", "BluetoothSockets", "BluetoothPrimitives", "BluetoothKernelHost",
                "BluetoothManagement",
                "BluetoothSimulation", log,
            ],
            path: "Tests/TestSupport", swiftSettings: testSettings),
        tests(of: "BluetoothPrimitives"),
        tests(of: "BluetoothATT"),
        tests(of: "BluetoothCryptography"),
        tests(of: "BluetoothGATT"),
        tests(of: "BluetoothHCI"),
        tests(of: "BluetoothAdvertising"),
        tests(of: "BluetoothManagement"),
        tests(of: "BluetoothCapture", with: ["BluetoothHCI", "BluetoothManagement", "BluetoothPrimitives"]),
        tests(of: "BluetoothJSON"),
        tests(of: "BluetoothDeviceFile"),
        tests(of: "BluetoothSystem"),
        tests(of: "BluetoothHost", with: ["BluetoothPrimitives", "BluetoothHCI"]),
        tests(of: "BluetoothLoop"),
        tests(of: "BluetoothSockets"),
        tests(of: "BluetoothLinux"),
        tests(of: "BluetoothSimulation"),
        tests(of: "BluetoothKernelHost", with: ["BluetoothSimulation"]),
        tests(
            of: "BluetoothLE",
            with: [
                "BluetoothGateway", "BluetoothHost", "BluetoothKernelHost", "BluetoothManagement",
                "BluetoothSimulation", "LINBLE", "LINBLESimulation",
            ]),
        tests(
            of: "LINBLE",
            with: [
                "BluetoothGateway", "BluetoothHost", "BluetoothLoop", "BluetoothSimulation", "BluetoothSystem",
                "LINBLESimulation",
            ]),
        tests(
            of: "BluetoothProfiles",
            with: [
                "BluetoothLE", "BluetoothHost", "BluetoothLoop", "BluetoothPrimitives", "BluetoothGATT",
                "BluetoothAdvertising", "BluetoothCryptography", "BluetoothSimulation",
            ]),
        tests(of: "LINBLESample", with: ["BluetoothLE", "LINBLE", "LINBLESimulation", "BluetoothSimulation"]),
        tests(of: "ExampleSupport", with: ["BluetoothProfiles"]),
        .testTarget(
            name: "GuideTests",
            dependencies: [
                "BluetoothLE", "BluetoothHost", "BluetoothGateway", "BluetoothSystem", "BluetoothCapture",
                "BluetoothDeviceFile", "BluetoothHCI", "BluetoothProfiles", "LINBLE", "BluetoothManagement",
                "BluetoothSimulation", "LINBLESimulation", "TestSupport",
            ],
            swiftSettings: testSettings),
        // The programs of Examples/Small, which is a package of its own, in one executable.
        .executableTarget(
            name: "SmallPrograms",
            dependencies: [
                "BluetoothLE", "BluetoothHost", "BluetoothAdvertising", "BluetoothSimulation", "BluetoothSockets",
                "BluetoothProfiles", "BluetoothSystem", "LINBLE",
            ] + coreBluetooth + mainLoop,
            path: "Tests/SmallPrograms", swiftSettings: testSettings),
        .testTarget(
            name: "ProgramTests",
            dependencies: [
                "SmallPrograms", "FirstProgram", "ble", "linble", "ExampleSupport", "BluetoothProfiles",
                "BluetoothDeviceFile", "BluetoothHost",
                "BluetoothJSON", "BluetoothSystem",
                "BluetoothLE", "BluetoothSimulation", "TestSupport", arguments,
            ],
            path: "Tests/ProgramTests",
            exclude: ["explore.txt"], swiftSettings: testSettings),
        tests(
            of: "Conformance",
            with: [
                "BluetoothLE", "BluetoothLinux", "BluetoothSimulation", "BluetoothKernelHost", "BluetoothHost",
                "BluetoothLoop",
                "BluetoothAdvertising",
                "BluetoothCryptography", "BluetoothGATT", "BluetoothHCI", "BluetoothManagement", "BluetoothCapture",
                log,
            ],
            path: "Tests/Conformance"),
    ] + coreBluetoothTargets + mainLoopTargets
)
