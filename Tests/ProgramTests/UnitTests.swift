import Glibc
import Testing

/// The systemd units in Examples/systemd.
@Suite struct UnitTests {
    private static let folder = #filePath.replacing(
        "/Tests/ProgramTests/UnitTests.swift", with: "/Examples/systemd")

    @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0))
    func systemdAcceptsThem() async throws {
        // With the built program, and as an instance.
        let ended = try await inShell(
            """
            cd $FOLDER && sed 's#/usr/bin/linble#\(builtFolder)/linble#' '\(Self.folder)/linble-bridge@.service' \
            >linble-bridge@LINBLE-Z1.service && systemd-analyze verify ./linble-bridge@LINBLE-Z1.service
            """)
        #expect(ended.status == 0, "\(ended.messages)")
        #expect(ended.messages == "")
    }
}
