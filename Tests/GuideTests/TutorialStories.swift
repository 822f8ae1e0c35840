import BluetoothLE
import TestSupport
import Testing

/// Docs/Guide/Tutorials/ThermometerLogger.md
@Suite struct ThermometerLoggerStories {
    typealias Page = ThermometerLoggerPage
    let page: Tutorial

    init() throws { page = try Tutorial("Docs/Guide/Tutorials/ThermometerLogger.md") }

    /// Runs a step on the radio of the page's file until it has printed what the page says.
    private func run(
        _ heading: String, adapters: String? = nil, _ program: @escaping @Sendable () async throws -> Void
    ) async throws {
        var world = try page.text("json", below: "A thermometer in a file")
        if let adapters { world.replaceSubrange(...world.startIndex, with: "{\n\(adapters)") }
        let expected = try page.output(below: heading)
        try await Fixture.run(world: world) { fixture in
            let running = fixture.begin(program)
            try await fixture.settle { fixture.lines.count >= expected.count }
            #expect(fixture.lines == expected)
            running.cancel()
            _ = await running.result
        }
    }

    @Test func findingTheThermometer() async throws {
        try await run("Find the thermometer") { await Page.FindTheThermometer.ThermometerLogger.main() }
    }

    @Test func readingAValue() async throws {
        try await run("Read a value") { await Page.ReadAValue.ThermometerLogger.main() }
    }

    @Test func subscribing() async throws {
        try await run("Subscribe") { try await Page.Subscribe.ThermometerLogger.run() }
    }

    @Test func survivingLostLinks() async throws {
        let adapters = try page.text("json", below: "Survive lost links")
        try await run("Survive lost links", adapters: adapters) {
            try await Page.SurviveLostLinks.ThermometerLogger.run()
        }
    }

    @Test func aMissingPermission() async throws {
        let expected = try page.output(below: "A real adapter")
        try await Fixture.run { fixture in
            (fixture.kernel.hasNetRaw, fixture.kernel.hasNetAdmin) = (false, false)
            fixture.kernel.executablePath = "/home/you/thermometer-logger/.build/debug/thermometer-logger"
            let error = try #require(await failure { try await Page.SurviveLostLinks.ThermometerLogger.run() })
            #expect(error.code == .notPermitted)
            #expect("\(error)".split(separator: "\n").map(String.init) == expected)
        }
    }
}

/// Docs/Guide/Tutorials/OwnDevice.md. The compiled page has its tests, which run here as any others.
@Suite struct OwnDeviceStories {
    typealias Page = OwnDevicePage
    let page: Tutorial

    init() throws { page = try Tutorial("Docs/Guide/Tutorials/OwnDevice.md") }

    @Test func controllingALamp() async throws {
        try await Fixture.run(world: page.text("json", below: "The lamp as a file")) { _ in
            let lamp = try await Page.TheCodeThatControlsALamp.Lamp.connect(by: Adapter.open(power: .powerOn))
            try await lamp.setBrightness(40)
            #expect(try await lamp.brightness() == 40)
        }
    }

    @Test func dimmingTheLampOfTheFile() async throws {
        let heading = "The lamp as a file"
        try await Fixture.run(world: try page.text("json", below: heading)) { fixture in
            try await Page.TheLampAsAFile.Dim.run(40)
            #expect(try fixture.lines == page.output(below: heading, number: 2))
        }
    }

    /// The tests run as those here do; the page has their number at each step.
    @Test(arguments: ["A lamp without hardware", "Everything that goes wrong", "The lamp itself"])
    func theNumberOfTests(heading: String) throws {
        let step = try #require(page.steps.first { $0.heading == heading })
        let tests = step.files.flatMap(\.lines).count { $0.contains("@Test ") }
        let suites = step.files.flatMap(\.lines).count { $0.contains("@Suite ") }
        let line = try #require(page.output(below: heading).first)
        let counts = try #require(line.firstMatch(of: /with (\d+) tests? in (\d+) suites? passed/))
        #expect(Int(counts.1) == tests && Int(counts.2) == suites)
    }
}
