// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that programs that depend on the library do not resolve or build it.
// Run from the root of the repository: swift run -c release --package-path Tests/Benchmarks

/// The name that the package manager gives the library for package access: that of its folder, as an identifier.
let library = String(
    Context.packageDirectory.split(separator: "/").dropLast(2).suffix(1).joined().lowercased()
        .map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })

// As in the library's manifest.
#if compiler(>=6.3)
    let mainLoop: [Target.Dependency] = [.product(name: "BluetoothMainLoop", package: "swift-bluetooth-le")]
#else
    let mainLoop: [Target.Dependency] = []
#endif

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
                .product(name: "CoreBluetooth", package: "swift-bluetooth-le"),
                .product(name: "LINBLE", package: "swift-bluetooth-le"),
            ] + mainLoop,
            packageAccess: false,
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .treatAllWarnings(as: .error),
                .enableExperimentalFeature("Lifetimes"),
                // What is measured is internal to the library: packet sockets, kernels, bearers.
                .unsafeFlags(["-package-name", library]),
            ]),
    ]
)
