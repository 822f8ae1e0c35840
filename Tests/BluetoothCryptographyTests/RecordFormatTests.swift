import BluetoothCryptography
import Testing

@Suite struct RecordFormatTests {
    private static let format = RecordFormat("BLE-TEST", version: 3)
    private static let trusting = RecordFormat("BLE-TEST", version: 3, trustsLaterVersions: true)

    private func failure(_ bytes: [UInt8], _ format: RecordFormat = Self.format) -> RecordFormat.Failure? {
        do throws(RecordFormat.Failure) {
            _ = try format.open(bytes)
            return nil
        } catch {
            return error
        }
    }

    /// The checksum was computed by another implementation.
    @Test func aRecordIsMagicVersionBodyAndChecksum() throws {
        let bytes = Self.format.seal([1, 2, 3])
        let expected = Array("BLE-TEST".utf8) + [3, 0, 1, 2, 3]
        #expect(bytes.dropLast(RecordFormat.checksumLength).elementsEqual(expected))
        #expect(
            RecordFormat.checksum(of: expected).reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
                == 0xBD6B_73B6_2E6B_3EB6_491A_DAE1_645B_DD00)
        #expect(try Self.format.open(bytes) == [1, 2, 3])
        let empty = Self.format.seal([])
        #expect(empty.count == RecordFormat.overhead)
        #expect(try Self.format.open(empty) == [])
    }

    @Test func damageIsFound() {
        let bytes = Self.format.seal([1, 2, 3])
        for count in bytes.indices { #expect(failure(Array(bytes.prefix(count))) == .damaged) }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x10
            #expect(failure(changed) == .damaged)
        }
        #expect(failure(bytes + [0]) == .damaged)
    }

    @Test func aLaterVersionIsReported() {
        let later = RecordFormat("BLE-TEST", version: 4).seal([1])
        let earlier = RecordFormat("BLE-TEST", version: 2).seal([1])
        for format in [Self.format, Self.trusting] {
            #expect(failure(later, format) == .unknownVersion(4))
            #expect(failure(earlier, format) == .unknownVersion(2))
        }
        // A later version with a checksum of its own is only reported where the format permits that.
        let other = later.dropLast(RecordFormat.checksumLength) + [UInt8](repeating: 7, count: 16)
        #expect(failure(Array(other)) == .damaged)
        #expect(failure(Array(other), Self.trusting) == .unknownVersion(4))
    }
}
