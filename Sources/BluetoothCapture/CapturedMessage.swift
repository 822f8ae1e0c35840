import BluetoothPrimitives

/// What a record of a capture says: one packet of one protocol, or one problem.
package struct CapturedMessage: Hashable, Sendable {
    /// The protocol of a message.
    package enum Kind: String, CaseIterable, Sendable {
        /// An event with advertising reports.
        case advertising = "adv"
        /// A link's begin, end and changes.
        case link
        /// A PDU of the Attribute Protocol.
        case attribute = "att"
        /// A PDU of the Security Manager Protocol.
        case pairing = "smp"
        /// A command of L2CAP signalling, or a frame of another channel.
        case l2cap
        /// A command, another event, or data that is not ACL.
        case hci
        /// A packet of the kernel's management sockets.
        case management = "mgmt"
        /// A note, a log message or a change of an adapter.
        case note
    }

    /// The protocol.
    package var kind: Kind
    /// The connection handle; nil for messages without a link.
    package var handle: UInt16?
    /// The peer of the link; nil if the capture begins after the link.
    package var peer: BluetoothAddress?
    /// Whether the host sent it; nil where no direction matters.
    package var isSent: Bool?
    /// The message in one line, without the device's own strings being escaped; for attributes see ``attribute``.
    package var text = ""
    /// The PDU of the Attribute Protocol.
    package var attribute: CapturedAttributePDU?
    /// Why the message is malformed or incomplete.
    package var problem: String?
    /// The bytes that the problem concerns.
    package var problemBytes: [UInt8] = []
    /// The number of bytes that the capture lacks at the end of the packet.
    package var missingByteCount = 0

    /// A message from its parts.
    package init(
        kind: Kind, isSent: Bool? = nil, text: String = "", attribute: CapturedAttributePDU? = nil,
        problem: String? = nil, problemBytes: [UInt8] = [], missingByteCount: Int = 0
    ) {
        self.kind = kind
        self.isSent = isSent
        self.text = text
        self.attribute = attribute
        self.problem = problem
        self.problemBytes = problemBytes
        self.missingByteCount = missingByteCount
    }
}
