import BluetoothSockets

/// One side's account of the credits of a connection-oriented channel: one for each frame (Core Vol 3 Part A §10.1).
struct ChannelCredits {
    /// The largest frame this side takes.
    let receiveMPS: Int
    private let receiveMTU: Int
    /// The largest frame the other side takes.
    private var sendMPS = 0
    /// How many frames may be sent.
    private(set) var toSend = 0
    /// How many frames the other side may still send.
    private(set) var granted = 0
    /// How many frames of the SDU that is being sent are left.
    private var framesLeft = 0

    init(mtu: UInt16, mps: UInt16) {
        receiveMTU = Int(mtu)
        receiveMPS = Int(mps)
    }

    /// What is said to the other side, which may send as many frames.
    mutating func terms(room: Int) -> ChannelTerms {
        granted = frames(inRoom: room)
        return ChannelTerms(mtu: UInt16(clamping: receiveMTU), mps: UInt16(clamping: receiveMPS), credits: granted)
    }

    /// Takes note of what the other side said.
    mutating func open(with terms: ChannelTerms) {
        sendMPS = max(1, Int(terms.mps))
        toSend = terms.credits
    }

    /// How many frames an SDU takes to be sent; its length comes first.
    func frames(of byteCount: Int) -> Int { max(1, (byteCount + 2 + sendMPS - 1) / max(1, sendMPS)) }

    /// Uses a credit for one frame of the SDU that comes next; says whether it is the last. To be asked with credits.
    mutating func sendFrame(ofSDU byteCount: Int) -> Bool {
        if framesLeft == 0 { framesLeft = frames(of: byteCount) }
        framesLeft -= 1
        toSend -= 1
        return framesLeft == 0
    }

    mutating func received(_ credits: Int) { toSend += credits }

    /// A frame has come in; says whether it was allowed to.
    mutating func frameArrived() -> Bool {
        guard granted > 0 else { return false }
        granted -= 1
        return true
    }

    /// How many credits to give now that the receive buffer has so much room.
    mutating func grant(room: Int) -> Int {
        let count = max(0, frames(inRoom: room) - granted)
        granted += count
        return count
    }

    /// What the kernel reckons that a receive buffer takes, its own description of each frame included
    /// (`l2cap_publish_rx_avail`, `l2cap_le_rx_credits`); where that is more than the frames themselves, one SDU.
    private func frames(inRoom room: Int) -> Int {
        guard room > 0, receiveMPS > 0 else { return 0 }
        let overhead = (room + receiveMPS - 1) / receiveMPS * 232
        guard overhead < room else { return receiveMTU / receiveMPS + 1 }
        return (room - overhead + receiveMPS - 1) / receiveMPS
    }
}
