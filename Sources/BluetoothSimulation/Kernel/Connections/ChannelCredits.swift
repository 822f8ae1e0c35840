/// One side's account of the credits of a connection-oriented channel: one for each frame (Core Vol 3 Part A §10.1).
struct ChannelCredits {
    /// The largest frame this side accepts.
    let receiveMPS: Int
    private let receiveMTU: Int
    /// The largest frame the other side accepts.
    private var sendMPS = 0
    /// The number of credits that no accepted SDU has taken.
    private(set) var toSend = 0
    /// The number of unsent frames of accepted SDUs that have a credit, and of those that wait for one.
    private(set) var reserved = 0
    private var awaiting = 0
    /// The number of frames that the other side may still send.
    private(set) var granted = 0
    /// The number of frames left of the SDU that is being sent.
    private var framesLeft = 0

    /// The largest frame that fits into one of the controller's buffers of 251 bytes with the header.
    private static let largestFrame = 247

    init(mtu: UInt16) {
        receiveMTU = Int(mtu)
        receiveMPS = min(receiveMTU, Self.largestFrame)
    }

    /// The parameters for the other side, which may send as many frames.
    mutating func terms(room: Int) -> ChannelTerms {
        granted = frames(inRoom: room)
        return ChannelTerms(mtu: UInt16(clamping: receiveMTU), mps: UInt16(clamping: receiveMPS), credits: granted)
    }

    /// Applies the other side's parameters.
    mutating func open(with terms: ChannelTerms) {
        sendMPS = max(1, Int(terms.mps))
        toSend = terms.credits
    }

    /// The number of frames of an SDU, whose length comes first.
    func frames(of byteCount: Int) -> Int { max(1, (byteCount + 2 + sendMPS - 1) / max(1, sendMPS)) }

    /// One frame of an SDU.
    struct Frame {
        /// The size of its L2CAP PDU with the header.
        let byteCount: Int
        let isLast: Bool
    }

    /// Takes the credits of an SDU's frames as the SDU is accepted; the kernel lets the frames without one wait.
    mutating func accept(ofSDU byteCount: Int) {
        awaiting += frames(of: byteCount)
        reserve()
    }

    private mutating func reserve() {
        let count = min(awaiting, toSend)
        (awaiting, toSend, reserved) = (awaiting - count, toSend - count, reserved + count)
    }

    /// Returns the next frame of the first unsent SDU. Requires a reserved credit.
    mutating func sendFrame(ofSDU byteCount: Int) -> Frame {
        let count = frames(of: byteCount)
        if framesLeft == 0 { framesLeft = count }
        framesLeft -= 1
        reserved -= 1
        // All frames but the last are as large as possible; the SDU's length comes first.
        let size = framesLeft == 0 ? byteCount + 2 - (count - 1) * sendMPS : sendMPS
        return Frame(byteCount: size + LinkMessage.headerByteCount, isLast: framesLeft == 0)
    }

    mutating func received(_ credits: Int) {
        toSend += credits
        reserve()
    }

    /// Records a received frame; returns whether the other side had a credit.
    mutating func frameArrived() -> Bool {
        guard granted > 0 else { return false }
        granted -= 1
        return true
    }

    /// The number of credits to grant for this room in the receive buffer.
    mutating func grant(room: Int) -> Int {
        let count = max(0, frames(inRoom: room) - granted)
        granted += count
        return count
    }

    /// The number of frames that the kernel expects a receive buffer to hold, including its own overhead of each frame
    /// (`l2cap_publish_rx_avail`, `l2cap_le_rx_credits`); at least one SDU.
    private func frames(inRoom room: Int) -> Int {
        guard room > 0, receiveMPS > 0 else { return 0 }
        let overhead = (room + receiveMPS - 1) / receiveMPS * 232
        guard overhead < room else { return receiveMTU / receiveMPS + 1 }
        return (room - overhead + receiveMPS - 1) / receiveMPS
    }
}
