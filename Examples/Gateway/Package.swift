// swift-tools-version: 6.2

import PackageDescription

// A package of its own: the trait changes how the whole library is compiled.
let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
let bluetooth = "swift-bluetooth-le"

let package = Package(
    name: "Gateway",
    dependencies: [
        .package(name: bluetooth, path: "../..", traits: ["Services"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    ],
    targets: [
        .executableTarget(
            name: "Gateway",
            dependencies: [
                .product(name: "BluetoothLE", package: bluetooth),
                .product(name: "BluetoothProfiles", package: bluetooth),
                .product(name: "BluetoothServices", package: bluetooth),
                .product(name: "BluetoothSimulation", package: bluetooth),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .testTarget(
            name: "BluetoothServicesTests",
            dependencies: [
                .product(name: "BluetoothLE", package: bluetooth),
                .product(name: "BluetoothServices", package: bluetooth),
                .product(name: "BluetoothSimulation", package: bluetooth),
                .product(name: "LINBLE", package: bluetooth),
                .product(name: "LINBLESimulation", package: bluetooth),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings),
    ]
)
