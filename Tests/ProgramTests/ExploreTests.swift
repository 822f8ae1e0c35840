import Testing

/// `ble explore` on the simulated radio, word for word.
@Suite(.serialized) struct ExploreTests {
    @Test func theWholeDeviceIsDrawn() async throws {
        let ended = try await run("ble", ["explore", "--simulate"])
        #expect(ended.status == 0)
        #expect(ended.output == tree)
        #expect(ended.messages == "")
    }

    @Test func withoutValuesNothingIsRead() async throws {
        let ended = try await run("ble", ["explore", "--simulate", "--no-values"])
        #expect(ended.status == 0)
        #expect(!ended.output.contains("  = "))
        #expect(ended.lines.count == tree.split(separator: "\n").count)
    }

    @Test func everyLineOfJSONIsAnObject() async throws {
        let ended = try await run("ble", ["explore", "--simulate", "--json", "-n", "Pulse-Z1"])
        #expect(ended.status == 0)
        #expect(ended.lines.count == tree.split(separator: "\n").count)
        #expect(ended.lines.allSatisfy { $0.timeless.hasPrefix("{\"t\":\"TIME\",\"event\":\"") && $0.hasSuffix("}") })
        #expect(
            ended.lines.first?.timeless
                == #"{"t":"TIME","event":"device","addr":"C0:98:E5:12:34:58","addrType":"random","mtu":517}"#)
        #expect(
            ended.lines.map(\.timeless).contains(
                #"{"t":"TIME","event":"characteristic","service":"180F","uuid":"2A19","name":"Battery Level","handle":27,"properties":["read","notify"],"hex":"61","text":"a","meaning":"97 %"}"#
            ))
    }
}

/// Made by `ble explore --simulate > Tests/ProgramTests/explore.txt`.
private let tree = contents(of: #filePath.replacing("ExploreTests.swift", with: "explore.txt"))
