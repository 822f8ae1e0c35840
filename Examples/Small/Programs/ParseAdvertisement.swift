// Decodes advertising data from its bytes, which may come from a capture or another library: no adapter is used.
//
//     $ swift run --package-path Examples/Small ParseAdvertisement 02 01 06 03 03 0D 18 06 09 50 75 6C 73 65
//     flags [LE general discoverable, BR/EDR not supported]
//     services [180D]
//     name "Pulse"
//     a heart rate sensor: true
import BluetoothAdvertising
import Glibc

@main struct ParseAdvertisement {
    static func main() {
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
