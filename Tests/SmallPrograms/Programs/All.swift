// The programs of Examples/Small/Programs. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

extension SmallPrograms {
    /// The programs by name.
    static let all: [String: @MainActor () async throws -> Void] = [
        "AdapterStates": { try await runAdapterStates() },
        "BatteryPeripheral": { try await runBatteryPeripheral() },
        "Beacon": { try await runBeacon() },
        "ChannelEcho": { try await runChannelEcho() },
        "Chat": { try await runChat() },
        "CoreBluetoothScanner": { try await runCoreBluetoothScanner() },
        "HeartRate": { try await runHeartRate() },
        "ParseAdvertisement": { try await runParseAdvertisement() },
        "ReadBattery": { try await runReadBattery() },
        "Scan": { try await runScan() },
        "SeveralSensors": { try await runSeveralSensors() },
        "ShowPasskey": { try await runShowPasskey() },
        "ThermometerLogger": { try await runThermometerLogger() },
        "TwoAdapters": { try await runTwoAdapters() },
        "WatchSignal": { try await runWatchSignal() },
        "WriteHandler": { try await runWriteHandler() },
        "WriteValue": { try await runWriteValue() },
    ]
}
