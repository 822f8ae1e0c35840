import BluetoothHost
import BluetoothSystem
import Testing

@testable import BluetoothSimulation

@Suite struct SimulationFileTests {
    @Test(
        arguments: [
            ("", "line 1: a value is missing"), ("[]", "it is not an object"), ("{}", "devices: it is missing"),
            ("{\n\"devices\": [\n}", "line 3: a value is missing"),
            (#"{"devices":{}}"#, "devices: it is not an array"),
            (#"{"devices":[1]}"#, "devices[0]: it is not an object"),
            (#"{"seed":-1,"devices":[]}"#, "seed: it is not a whole number of at least 0"),
            (#"{"devices":[{"address":"nothing"}]}"#, #"devices[0].address: "nothing" is not an address"#),
            (#"{"devices":[{"name":7}]}"#, "devices[0].name: it is not a text"),
            (
                #"{"devices":[{"rssi":-300}]}"#,
                "devices[0].rssi: it is not a whole number of at least -127 and at most 20"
            ),
            (
                #"{"devices":[{},{"linble":"teapot"}]}"#,
                #"devices[1].linble: "loopback" or "nothing" is expected, not "teapot""#
            ),
            (#"{"devices":[{"services":[{"uuid":"x"}]}]}"#, #"devices[0].services[0].uuid: "x" is not a UUID"#),
            (#"{"devices":[{"services":[{}]}]}"#, "devices[0].services[0].uuid: it is missing"),
            (#"{"devices":[{"advertisedServices":["x"]}]}"#, #"devices[0].advertisedServices[0]: "x" is not a UUID"#),
        ])
    func whatMakesNoSenseIsRefusedWithItsPlace(text: String, problem: String) {
        let found = #expect(throws: SimulationFile.Problem.self) { try SimulationFile(reading: Array(text.utf8)) }
        #expect(found?.description == problem)
    }

    @Test(
        arguments: [
            (
                #""properties":["sing"]"#,
                #"properties[0]: "sing" is not one of authenticatedSignedWrites, broadcast, extendedProperties, indicate, notify, read, write, writeWithoutResponse"#
            ),
            (#""properties":7"#, "properties: it is not an array"),
            (#""value":"0g""#, #"value: "0g" is not hexadecimal"#),
            (#""value":"00","text":"a""#, "value: there is a text as well"),
            (#""every":0"#, "every: it is not 0.001 to 86400 seconds"), (#""every":"1""#, "every: it is not a number"),
            (#""echo":"2A38""#, "echo: 2A38 is not a characteristic of the service"),
        ])
    func aCharacteristicIsRefusedWithItsPlace(fields: String, problem: String) {
        let text = #"{"devices":[{"services":[{"uuid":"180D","characteristics":[{"uuid":"2A37",\#(fields)}]}]}]}"#
        let found = #expect(throws: SimulationFile.Problem.self) { try SimulationFile(reading: Array(text.utf8)) }
        #expect(found?.description == "devices[0].services[0].characteristics[0].\(problem)")
    }

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
