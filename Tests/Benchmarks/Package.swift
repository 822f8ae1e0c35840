// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that programs that depend on the library do not resolve or build it.
// Run from the root of the repository: swift run -c release --package-path Tests/Benchmarks
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "swift-bluetooth-le", path: "../..")
    ],
    targets: [
        .target(name: "CBenchmarkSupport", cSettings: [.define("_GNU_SOURCE")]),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CBenchmarkSupport", .product(name: "BluetoothLE", package: "swift-bluetooth-le"),
                .product(name: "BluetoothSimulation", package: "swift-bluetooth-le"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .treatAllWarnings(as: .error),
                .enableExperimentalFeature("Lifetimes"),
            ]),
    ]
)
