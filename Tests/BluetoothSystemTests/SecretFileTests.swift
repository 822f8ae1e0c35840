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
        for mode: mode_t in [0o640, 0o604, 0o602, 0o644, 0o610] {
            chmod(path, mode)
            #expect(Self.failure(path) == .accessible(mode: UInt32(mode), owner: geteuid()))
        }
        // A symbolic link, wherever it leads.
        for target in [path, "/dev/zero", link, "\(directory)/nothing"] {
            symlink(target, link)
            #expect(Self.failure(link) == .symbolicLink)
            unlink(link)
        }
    }

    private static func folderFailure(_ path: String) -> SecretFile.Failure? {
        do throws(SecretFile.Failure) {
            try SecretFile.checkFolder(path)
            return nil
        } catch {
            return error
        }
    }

    @Test func aFolderIsForItsUserToWriteTo() throws {
        var template = Array("/tmp/secret-XXXXXX".utf8CString)
        let directory = String(cString: try #require(mkdtemp(&template)))
        let (file, link) = (directory + "-file", directory + "-link")
        defer {
            unlink(file)
            unlink(link)
            rmdir(directory)
        }
        symlink(directory, link)
        for path in [directory, link] {
            for mode: mode_t in [0o700, 0o755, 0o500] {
                chmod(directory, mode)
                #expect(Self.folderFailure(path) == nil)
            }
            for mode: mode_t in [0o720, 0o702, 0o775, 0o777, 0o1777] {
                chmod(directory, mode)
                #expect(Self.folderFailure(path) == .accessible(mode: UInt32(mode), owner: geteuid()))
            }
        }
        #expect(Self.folderFailure("\(directory)/missing") == nil)
        Self.write("", to: file, mode: 0o600)
        #expect(Self.folderFailure(file) == .notRegular)
    }

    @Test(.enabled(if: geteuid() == 0, "needs the superuser")) func whatBelongsToAnotherUserIsRefused() throws {
        var template = Array("/tmp/secret-XXXXXX".utf8CString)
        let directory = String(cString: try #require(mkdtemp(&template)))
        let (file, link) = ("\(directory)/file", "\(directory)/link")
        defer {
            unlink(file)
            unlink(link)
            rmdir(directory)
        }
        Self.write("secret", to: file, mode: 0o600)
        try #require(chown(file, 1001, 0) == 0)
        #expect(Self.failure(file) == .foreign(owner: 1001))
        // Another user's link to a folder of this one's.
        symlink("/root", link)
        #expect(Self.folderFailure(link) == nil)
        try #require(lchown(link, 1001, 0) == 0)
        #expect(Self.folderFailure(link) == .foreign(owner: 1001))
        try #require(chown(directory, 1001, 0) == 0)
        #expect(Self.folderFailure(directory) == .foreign(owner: 1001))
    }
}

@Suite struct EnvironmentTests {
    @Test func aCallersVariableChoosesNothingInSecureExecution() {
        let path = SystemFiles.environment("PATH")
        #expect(path != nil && !SystemFiles.isSecureExecution)
        #expect(SystemFiles.trustedEnvironment("PATH") == path)
        #expect(SystemFiles.trustedEnvironment("PATH", isSecure: true) == nil)
        // The tests run as their caller, as a program with file capabilities does.
        #expect(SystemFiles.folderEnvironment("PATH") == path)
    }
}
