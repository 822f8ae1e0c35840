// swift-tools-version: 6.2

import PackageDescription

// A package of its own: `swift run --package-path Examples/Small Scan` builds one program, and a build of the library none.

/// The programs of one file each, and the products that they import.
let programs = [
    "AdapterStates": ["BluetoothLE", "BluetoothSimulation"],
    "BatteryPeripheral": ["BluetoothLE", "BluetoothProfiles", "BluetoothSimulation"],
    "Beacon": ["BluetoothAdvertising", "BluetoothLE", "BluetoothSimulation"],
    "ChannelEcho": ["BluetoothLE", "BluetoothSimulation"],
    "Chat": ["BluetoothLE", "BluetoothSimulation", "LINBLE"],
    "CoreBluetoothScanner": ["CoreBluetooth"],
    "HeartRate": ["BluetoothLE", "BluetoothProfiles", "BluetoothSimulation"],
    "ParseAdvertisement": ["BluetoothAdvertising"],
    "ReadBattery": ["BluetoothLE", "BluetoothProfiles", "BluetoothSimulation"],
    "Scan": ["BluetoothLE", "BluetoothSimulation"],
    "SeveralSensors": ["BluetoothLE", "BluetoothSimulation"],
    "ShowPasskey": ["BluetoothLE", "BluetoothSimulation"],
    "ThermometerLogger": ["BluetoothLE", "BluetoothProfiles", "BluetoothSimulation"],
    "TwoAdapters": ["BluetoothLE", "BluetoothProfiles", "BluetoothSimulation"],
    "WatchSignal": ["BluetoothAdvertising", "BluetoothLE", "BluetoothSimulation"],
    "WriteHandler": ["BluetoothLE", "BluetoothSimulation"],
    "WriteValue": ["BluetoothLE", "BluetoothSimulation"],
]

func products(_ names: [String]) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "swift-bluetooth-le") }
}

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

let package = Package(
    name: "Small",
    dependencies: [.package(name: "swift-bluetooth-le", path: "../..")],
    targets: programs.map { name, imports in
        .executableTarget(
            name: name, dependencies: products(imports), path: "Programs",
            exclude: programs.keys.filter { $0 != name }.map { "\($0).swift" }, swiftSettings: settings)
    } + [
        .testTarget(
            name: "Tests", dependencies: products(["BluetoothLE", "BluetoothProfiles", "BluetoothSimulation"]),
            path: "Tests",
            swiftSettings: settings)
    ]
)
