import ExampleSupport
import Glibc
import TestSupport
import Testing

@testable import ble

/// `ble update` and `ble serve firmware` on the simulated radio.
@Suite(.serialized) struct UpdateTests {
    /// An MCUboot image of version 1.2.3.4.
    static let image = hex(
        "3DB8F3960000000040000C00050000000000000001020300040000000000000000000000000000000000000000"
            + "0000000000000000000000000000000000000068656C6C6F08690C00500004000700000007692F0010002000BA"
            + "EB4D18412050DAA63DD28A88F44B64F9DE7BC96211F04925631C1C24B9D89922000300736967")

    /// Runs `ble update` with these arguments, in which FILE is a file with the bytes.
    private func update(_ bytes: [UInt8], _ arguments: [String]) async throws -> Ended {
        try await withFolder { folder in
            let file = try #require(fopen("\(folder)/image.bin", "w"))
            fwrite(bytes, 1, bytes.count, file)
            fclose(file)
            return try await run(
                "ble", ["update", "--simulate"] + arguments.map { $0 == "FILE" ? "\(folder)/image.bin" : $0 })
        }
    }

    @Test func theImagesAreListed() async throws {
        let ended = try await run("ble", ["update", "--simulate"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines.count == 1)
        #expect(ended.output.hasPrefix("image 0 slot 0: 1.0.0  active  confirmed  "), "\(ended.output)")
    }

    @Test func anImageIsUploadedTestedAndStarted() async throws {
        let ended = try await update(Self.image, ["FILE"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.lines.first == "uploaded 128 bytes, version 1.2.3.4")
        #expect(
            ended.output.contains(
                "image 0 slot 1: 1.2.3.4  pending  BAEB4D18412050DAA63DD28A88F44B64F9DE7BC96211F04925631C1C24B9D899\n"),
            "\(ended.output)")
        #expect(ended.lines.last == "the device restarts")
    }

    @Test func optionsChooseWhatBecomesOfTheImage() async throws {
        let uploaded = try await update(Self.image, ["FILE", "--upload-only"])
        #expect(uploaded.status == 0, "\(uploaded.messages)")
        #expect(!uploaded.output.contains("pending") && !uploaded.output.contains("restarts"), "\(uploaded.output)")
        let confirmed = try await update(Self.image, ["FILE", "--confirm", "--no-reset"])
        #expect(confirmed.status == 0, "\(confirmed.messages)")
        #expect(confirmed.output.contains("pending  permanent"), "\(confirmed.output)")
        #expect(!confirmed.output.contains("restarts"))
        let older = try await update(Self.image, ["FILE", "--image", "1"])
        #expect(older.status == 76)
        #expect(older.messages.contains("no free slot (group 1, 9)"), "\(older.messages)")
    }

    @Test func aFileOfAnotherKindIsRefused() async throws {
        let refused = try await update([1, 2, 3], ["FILE"])
        #expect(refused.status == 65)
        #expect(refused.messages.contains("is not an MCUboot image"), "\(refused.messages)")
        #expect(refused.messages.contains("--any-file"), "\(refused.messages)")
        // The device refuses it as well.
        let sent = try await update([1, 2, 3], ["FILE", "--any-file"])
        #expect(sent.status == 76)
        #expect(sent.messages.contains("not an image (group 1, 23)"), "\(sent.messages)")
        #expect(try await run("ble", ["update", "--simulate", "/nowhere.bin"]).status == 66)
    }

    @Test(
        arguments: [
            (["--test"], "needs the image"), (["--upload-only"], "needs the image"), (["--image", "256"], "0 to 255"),
        ]
            as [([String], String)])
    func invalidArgumentsAreRejected(_ arguments: [String], _ words: String) throws {
        let error = #expect(throws: (any Error).self) { try UpdateCommand.parse(arguments) }
        let message = UpdateCommand.message(for: try #require(error))
        #expect(message.contains(words), "\(message)")
    }

    @Test func theServedDeviceTellsItsClients() async throws {
        let ended = try await run("ble", ["serve", "firmware", "--simulate", "--once"])
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.output.contains("serves Updatable: 8D53DC1D"), "\(ended.output)")
        #expect(ended.lines.last?.contains("disconnected") == true, "\(ended.output)")
        #expect(ended.messages.contains("another machine lists images: 1.0.0"), "\(ended.messages)")
    }
}
