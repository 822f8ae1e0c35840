// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that programs that depend on the library do not resolve or build it.
// Built and run by Tests/Fuzz/run.

/// The name that the package manager gives the library for package access: that of its folder, as an identifier.
let library = String(
    Context.packageDirectory.split(separator: "/").dropLast(2).suffix(1).joined().lowercased()
        .map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })

let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(name: "swift-bluetooth-le", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                .product(name: "BluetoothProfiles", package: "swift-bluetooth-le"),
                .product(name: "BluetoothSimulation", package: "swift-bluetooth-le"),
                .product(name: "LINBLE", package: "swift-bluetooth-le"),
            ],
            packageAccess: false,
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .treatAllWarnings(as: .error),
                .enableExperimentalFeature("Lifetimes"),
                // What is fuzzed is internal to the library: decoders, bearers, servers.
                .unsafeFlags(["-package-name", library, "-parse-as-library"]),
            ])
    ]
)
