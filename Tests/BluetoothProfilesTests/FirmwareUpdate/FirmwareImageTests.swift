import BluetoothCryptography
import BluetoothPrimitives
import TestSupport
import Testing

@testable import BluetoothProfiles

/// The bytes of an MCUboot image with this content.
func mcubootImage(
    major: UInt8 = 2, minor: UInt8 = 0, revision: UInt16 = 0, build: UInt32 = 0, content: [UInt8],
    flags: UInt32 = 0, protectedTrailer: [UInt8] = []
) -> [UInt8] {
    var writer = ByteWriter(capacity: 1 << 20)
    let trailerMagic: [UInt8] = [0x07, 0x69]
    do {
        try writer.write(0x96F3_B83D as UInt32)
        try writer.write(0 as UInt32)
        try writer.write(32 as UInt16)
        try writer.write(UInt16(protectedTrailer.count))
        try writer.write(UInt32(content.count))
        try writer.write(flags)
        try writer.write(major)
        try writer.write(minor)
        try writer.write(revision)
        try writer.write(build)
        try writer.writeZeros(4)
        try writer.write(content)
        try writer.write(protectedTrailer)
        let hash = SHA256.hash(of: writer.bytes)
        // A hash of the key, and the hash of the image.
        try writer.write(trailerMagic + [4 + 4 + 2 + 4 + 32, 0, 0x01, 0, 2, 0, 0xAA, 0xBB, 0x10, 0, 32, 0] + hash)
    } catch {
        Issue.record("the image is too large")
    }
    return writer.bytes
}

@Suite struct FirmwareImageTests {
    /// Written and read by the package smpclient 7.3.0.
    @Test func anImageOfAnotherProgramIsRead() throws {
        let bytes = hex(
            "3DB8F3960000000040000C00050000000000000001020300040000000000000000000000000000000000000000000000"
                + "0000000000000000000000000000000068656C6C6F08690C00500004000700000007692F0010002000BAEB4D18412050"
                + "DAA63DD28A88F44B64F9DE7BC96211F04925631C1C24B9D89922000300736967")
        let image = try FirmwareImage(bytes)
        #expect(image.version == "1.2.3.4")
        #expect(image.hash == hex("BAEB4D18412050DAA63DD28A88F44B64F9DE7BC96211F04925631C1C24B9D899"))
    }

    @Test func theTrailerHasTheHash() throws {
        let plain = try FirmwareImage(mcubootImage(content: [1, 2, 3]))
        #expect(plain.version == "2.0.0")
        #expect(plain.hash == SHA256.hash(of: plain.bytes.prefix(35)))
        let protected = try FirmwareImage(
            mcubootImage(content: [1, 2, 3], protectedTrailer: [0x08, 0x69, 8, 0, 0x50, 0, 0, 0]))
        #expect(protected.hash == SHA256.hash(of: protected.bytes.prefix(43)))
    }

    @Test func otherFilesAreRefused() {
        let image = mcubootImage(content: [1, 2, 3])
        for count in 0..<image.count {
            #expect(throws: MalformedValue.self, "\(count) bytes") { try FirmwareImage(Array(image.prefix(count))) }
        }
        var damaged = image
        damaged[33] ^= 1
        #expect(throws: MalformedValue("Hash", "it is not that of the content: the file is damaged")) {
            try FirmwareImage(damaged)
        }
        // The hash of an encrypted image is that of its plain content.
        var encrypted = mcubootImage(content: [1, 2, 3], flags: 4)
        encrypted[33] ^= 1
        #expect(throws: Never.self) { try FirmwareImage(encrypted) }
    }

    @Test func noChangedByteTraps() {
        for bytes in mutations(of: mcubootImage(content: [1])) { _ = try? FirmwareImage(bytes) }
    }
}
