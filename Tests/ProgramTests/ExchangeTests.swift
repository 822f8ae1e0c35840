import Testing

/// `linble exchange` on the simulated radio.
@Suite(.serialized) struct ExchangeTests {
    @Test func anIncompleteResponseIsPrintedAndFails() async throws {
        // A minute of samples, four a second.
        let start = ContinuousClock.now
        let ended = try await run("linble", ["exchange", "02043C", "--gap", "1", "-t", "2", "--simulate"])
        #expect(ContinuousClock.now - start >= .seconds(2))
        #expect(ended.status == 75)
        #expect(ended.lines.count == 2)
        #expect(ended.lines.first == "Tx | 02043C")
        // The start of sampling, then several samples.
        #expect(ended.lines.last?.hasPrefix("Rx | 0144") == true, "\(ended.output)")
        #expect(ended.output.count > 80, "\(ended.output)")
        #expect(
            ended.messages == """
                linble exchange: The response to 02043C is not complete: the device is still sending.
                Allow more time with --timeout, or end the response at a shorter pause with --gap.

                """)
    }

    @Test func aShorterGapEndsTheResponse() async throws {
        let ended = try await run("linble", ["exchange", "02043C", "0100", "--gap", "0.1", "-t", "5", "--simulate"])
        #expect(ended.status == 0)
        #expect(ended.lines.prefix(3) == ["Tx | 02043C", "Rx | 0144", "Tx | 0100"])
    }

    @Test func severalArgumentsAreSeveralPackets() async throws {
        let ended = try await run("linble", ["exchange", "0100", "02 01 02", "--json", "--simulate"])
        #expect(ended.status == 0)
        #expect(
            ended.output.timeless == """
                {"t":"TIME","event":"tx","data":"0100"}
                {"t":"TIME","event":"rx","data":"0140"}
                {"t":"TIME","event":"tx","data":"020102"}
                {"t":"TIME","event":"rx","data":"034102FF"}

                """, "\(ended.output)")
    }

    @Test func missingQuotesAreSuggested() async throws {
        let ended = try await run("linble", ["exchange", "01", "00", "-t", "1", "--simulate"])
        #expect(ended.status == 75)
        #expect(ended.output == "Tx | 01\n")
        #expect(
            ended.messages == """
                linble exchange: No response to 01.
                Each argument is a separate packet. To send them as one: linble exchange '01 00'

                """)
    }
}
