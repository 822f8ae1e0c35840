import BluetoothPrimitives
import BluetoothSystem
import Glibc
import TestSupport
import Testing

@Suite struct SecretFileTests {
    private static func failure(_ path: String, limit: Int = 100) -> SecretFile.Failure? {
        do throws(SecretFile.Failure) {
            _ = try SecretFile.read(path, limit: limit)
            return nil
        } catch {
            return error
        }
    }

    private static func write(_ text: String, to path: String, mode: mode_t) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = Glibc.write(file, text, text.utf8.count)
        close(file)
        chmod(path, mode)
    }

    @Test func onlyAFileOfTheUserAloneIsRead() throws {
        var template = Array("/tmp/secret-XXXXXX".utf8CString)
        let directory = String(cString: try #require(mkdtemp(&template)))
        defer {
            for name in ["file", "link"] { unlink("\(directory)/\(name)") }
            rmdir(directory)
        }
        let (path, link) = ("\(directory)/file", "\(directory)/link")
        #expect(Self.failure(path) == .missing)
        #expect(Self.failure(directory) == .notRegular)
        #expect(Self.failure("/dev/null") == .notRegular)
        #expect(Self.failure("\(directory)/file/below") == .missing)
        for mode: mode_t in [0o600, 0o400, 0o700] {
            Self.write("secret", to: path, mode: mode)
            #expect(try SecretFile.read(path, limit: 6) == Array("secret".utf8))
        }
        #expect(Self.failure(path, limit: 5) == .tooLong)
        symlink(path, link)
        #expect(Self.failure(link) == nil)
        for mode: mode_t in [0o640, 0o604, 0o602, 0o644, 0o610] {
            chmod(path, mode)
            // The link's own mode does not matter.
            #expect(Self.failure(link) == .accessible(mode: UInt32(mode)))
        }
        unlink(path)
        #expect(Self.failure(link) == .missing)
    }
}
