import Testing

/// The tests, one after the other: they share one adapter and one emulated radio.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: Fixture.isThere, "BLUETOOTH_PEERS names no control socket: see Tests/Peers/README.md"))
enum Peers {}
