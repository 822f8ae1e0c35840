import LINBLESample
import LINBLESimulation
import TestSupport
import Testing

@Suite struct SampleMicrocontrollerTests {
    @Test func answersAsTheProtocolSays() {
        var microcontroller = SampleMicrocontroller()
        func answer(_ request: String) -> [AttachedDeviceAction] { microcontroller.receive(hex(request)) }
        #expect(answer("01 00") == [.send(hex("01 40"))])
        #expect(answer("02 01 02") == [.send(hex("03 41 02 FF"))])
        #expect(answer("03 02 04 0F") == [.send(hex("01 42"))])
        #expect(answer("02 01 04") == [.send(hex("03 41 04 0F"))])
        #expect(answer("01 03") == [.send(hex("0D 43 31 2E 32 2E 33 2E 39 38 37 36 35 34"))])
        #expect(
            answer("01 05") == [
                .send(hex("1A 45 53 61 6D 70 6C 65 2D 55 61 72 74 43 6F 6E 74 72 6F 6C 6C 65 72 2D 30 30 31"))
            ])
        #expect(answer("03 06 41 42") == [.send(hex("01 46"))])
        #expect(answer("01 05") == [.send(hex("03 45 41 42"))])
        #expect(microcontroller.name == "AB")
    }

    @Test func answersTwoCommandsInOnePieceAndOneInTwo() {
        var microcontroller = SampleMicrocontroller()
        #expect(microcontroller.receive(hex("01 00 01")) == [.send(hex("01 40"))])
        #expect(
            microcontroller.receive(hex("00 01 00")) == [.send(hex("01 40")), .send(hex("01 40"))])
    }

    @Test func samplesForAsLongAsAskedThenEnds() {
        var microcontroller = SampleMicrocontroller(sampleInterval: .milliseconds(500))
        #expect(
            microcontroller.receive(hex("02 04 01")) == [.send(hex("01 44")), .setTimer(.milliseconds(500))])
        let first = microcontroller.timerExpired()
        #expect(first == [.send(hex("06 84 01 42 F6 00 00")), .setTimer(.milliseconds(500))])
        let second = microcontroller.timerExpired()
        #expect(second == [.send(hex("06 84 01 42 F6 80 00")), .send(hex("02 84 00"))])
        #expect(microcontroller.timerExpired().isEmpty)
    }

    @Test func anIntervalThatDoesNotDivideTheTimeEndsInTime() {
        var microcontroller = SampleMicrocontroller(sampleInterval: .milliseconds(700))
        _ = microcontroller.receive(hex("02 04 01"))
        #expect(microcontroller.timerExpired().count == 2)
        #expect(microcontroller.timerExpired() == [.send(hex("02 84 00"))])
    }

    @Test func whatMeansNothingIsCountedAndNotAnswered() {
        var microcontroller = SampleMicrocontroller()
        #expect(microcontroller.receive(hex("00 02 01 08 01 7F 01 00")) == [.send(hex("01 40"))])
        #expect(microcontroller.discardedPackets == 3)
    }

    @Test func aLostLinkStopsTheSamplesAndForgetsHalfAPacket() {
        var microcontroller = SampleMicrocontroller()
        _ = microcontroller.receive(hex("02 04 05 03 02"))
        #expect(microcontroller.disconnected() == [.setTimer(nil)])
        #expect(microcontroller.timerExpired().isEmpty)
        #expect(microcontroller.receive(hex("01 00")) == [.send(hex("01 40"))])
    }

    @Test func noInputStopsIt() {
        for (bytes, _) in SampleProtocolTests.commands {
            for input in mutations(of: hex(bytes)) {
                var microcontroller = SampleMicrocontroller()
                _ = microcontroller.receive(input)
                _ = microcontroller.timerExpired()
            }
        }
    }
}
