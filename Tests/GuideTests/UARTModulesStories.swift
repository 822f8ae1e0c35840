import BluetoothLE
import Testing

/// Docs/Guide/Central/UARTModules.md
@Suite struct UARTModulesStories {
    @Test func openOne() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await UARTModulesPage.openOne(adapter)
            #expect(fixture.lines == ["hello"])
        }
    }

    @Test func aUARTThatOutlivesLinks() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await UARTModulesPage.aUARTThatOutlivesLinks(adapter)
            #expect(fixture.lines == ["measure", "8"])
            try await fixture.radio.sleep(for: .seconds(3))
            #expect(fixture.kernel.links(adapter: 0).isEmpty)
        }
    }

    @Test func theEventsOfAUARTThatOutlivesLinks() async throws {
        try await Fixture.withAdapter { fixture, adapter in
            try await UARTModulesPage.aUARTThatOutlivesLinks2(adapter)
            #expect(fixture.lines == ["online"])
        }
    }
}
