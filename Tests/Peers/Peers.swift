import Testing

/// The stories, one after the other: they share one adapter and one band.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: Band.isThere, "BLUETOOTH_PEERS does not name a band's control socket: see Tests/Peers/README.md"))
enum Peers {}
