import BluetoothHost
import BluetoothSystem
import Testing

@testable import BluetoothSimulation

@Suite struct SimulationFileTests {
    @Test func aFileThatIsNotThereIsRefused() {
        let error = #expect(throws: BluetoothError.self) { try EnvironmentRadio.makeKernel("/nowhere/world.json") }
        #expect(error?.code == .invalidArgument)
        #expect(
            error?.message == "BLUETOOTH_SIMULATION=/nowhere/world.json cannot be used: there is no such file.")
    }

    @Test func withoutTheVariableItIsTheMachinesOwn() throws {
        #expect(try EnvironmentRadio.makeKernel(nil) == nil)
        #expect(SystemFiles.trustedEnvironment("BLUETOOTH_SIMULATION_IS_NOT_SET") == nil)
        var messages: [String] = []
        #expect(SystemFiles.trustedEnvironment("PATH", isSecure: true) { messages.append($0) } == nil)
        #expect(SystemFiles.trustedEnvironment("PATH", isSecure: false) { messages.append($0) } != nil)
        #expect(messages == ["PATH is ignored: this program has file capabilities."])
    }
}
