// Examples/Small/Programs/ParseAdvertisement.swift, for the tests. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothAdvertising
import Glibc

extension SmallPrograms {
    @MainActor static func runParseAdvertisement() async throws {
        struct ParseAdvertisement {
            @MainActor static func main() {
                let words = CommandLine.arguments.dropFirst()
                let bytes = words.compactMap { UInt8($0, radix: 16) }
                guard !bytes.isEmpty, bytes.count == words.count else {
                    print("usage: ParseAdvertisement BYTE…, in hexadecimal")
                    exit(64)
                }
                let data = AdvertisementData(advertising: bytes)
                for field in data.fields { print(field) }
                print("a heart rate sensor:", data.containsService(.heartRate))
                for problem in data.problems { print(problem) }
                exit(data.problems.isEmpty ? 0 : 65)
            }
        }
        ParseAdvertisement.main()
    }
}
