import BluetoothLinux
import Testing

/// The marks by which programs see each other, as addresses of local sockets.
@Suite struct ProgramMarkTests {
    private static let mark = "swift-bluetooth-le-tests/\(UInt64.random(in: 0 ... .max))"

    @Test func aMarkIsHeldOnceAndUntilItIsReleased() throws {
        let kernel = try LinuxKernel.shared
        #expect(!kernel.isHeld(Self.mark))
        var held = kernel.hold(Self.mark)
        #expect(held != nil)
        #expect(kernel.isHeld(Self.mark))
        #expect(kernel.hold(Self.mark) == nil)
        // The length of a name counts.
        #expect(!kernel.isHeld(Self.mark + "0") && !kernel.isHeld(String(Self.mark.dropLast())))
        held = nil
        #expect(held == nil && !kernel.isHeld(Self.mark))
        #expect(kernel.hold(Self.mark) != nil)
    }

    @Test func aNameThatIsTooLongCannotBeHeld() throws {
        let kernel = try LinuxKernel.shared
        let (most, more) = (String(repeating: "x", count: 107), String(repeating: "x", count: 108))
        let held = kernel.hold(most)
        #expect(held != nil && kernel.isHeld(most))
        #expect(kernel.hold(more) == nil && !kernel.isHeld(more))
    }
}
