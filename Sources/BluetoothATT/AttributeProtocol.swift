import BluetoothPrimitives

/// The numbers the specification fixes for the Attribute Protocol.
public enum AttributeProtocol {
    /// The ATT_MTU of an LE link until one is exchanged, in bytes (Core Vol 3 Part G §5.2.1).
    @inlinable public static var defaultMTU: Int { 23 }

    /// The least ATT_MTU of an enhanced bearer, in bytes (Core Vol 3 Part G §5.3.1).
    @inlinable public static var minimumEnhancedMTU: Int { 64 }

    /// The longest an attribute value can be, in bytes (Core Vol 3 Part F §3.2.9).
    @inlinable public static var maximumAttributeValueLength: Int { 512 }

    /// How long a request may wait for its response and an indication for its confirmation: then the bearer is over
    /// (Core Vol 3 Part F §3.3.3).
    @inlinable public static var transactionTimeout: Duration { .seconds(30) }

    /// The L2CAP channel of the unenhanced bearer on an LE link (Core Vol 3 Part A §2.1).
    @inlinable public static var channelIdentifier: UInt16 { 0x0004 }

    /// The L2CAP protocol/service multiplexer of the unenhanced bearer on a BR/EDR link (Assigned Numbers §2.1).
    @inlinable public static var protocolServiceMultiplexer: UInt16 { 0x001F }

    /// The L2CAP protocol/service multiplexer of enhanced bearers (Assigned Numbers §2.1).
    @inlinable public static var enhancedProtocolServiceMultiplexer: UInt16 { 0x0027 }

    /// The ATT_MTU in force after an exchange: the smaller of the two offers, and never less than ``defaultMTU``
    /// (Core Vol 3 Part F §3.4.2.2).
    @inlinable
    public static func mtu(clientReceiveMTU: UInt16, serverReceiveMTU: UInt16) -> Int {
        max(defaultMTU, Int(min(clientReceiveMTU, serverReceiveMTU)))
    }
}

/// How many bytes of a value fit into one PDU under an ATT_MTU.
///
/// What a sender cuts values to. The lengths for whole values also stop at the 512 bytes an attribute can have.
@frozen
public struct ATTValueLimits: Hashable, Sendable {
    /// The ATT_MTU in bytes.
    public let mtu: Int

    /// The limits under `mtu`.
    @inlinable
    public init(mtu: Int) {
        self.mtu = mtu
    }

    @inlinable
    func limit(header: Int, maximum: Int = .max) -> Int {
        mtu > header ? min(mtu - header, maximum) : 0
    }

    /// Value bytes in a Handle Value Notification or Indication, or in one entry that is alone in its PDU
    /// (Core Vol 3 Part F §3.4.7.1).
    @inlinable public var notification: Int {
        limit(header: 3, maximum: AttributeProtocol.maximumAttributeValueLength)
    }

    /// Value bytes in a Write Request or Write Command (Core Vol 3 Part F §3.4.5.1).
    @inlinable public var write: Int {
        limit(header: 3, maximum: AttributeProtocol.maximumAttributeValueLength)
    }

    /// Value bytes in a Signed Write Command, whose signature takes twelve more (Core Vol 3 Part F §3.4.5.4).
    @inlinable public var signedWrite: Int {
        limit(header: 15, maximum: AttributeProtocol.maximumAttributeValueLength)
    }

    /// Bytes of the part in a Prepare Write Request (Core Vol 3 Part F §3.4.6.1).
    @inlinable public var prepareWrite: Int {
        limit(header: 5, maximum: AttributeProtocol.maximumAttributeValueLength)
    }

    /// Value bytes in a Read Response or Read Blob Response (Core Vol 3 Part F §3.4.4.4).
    ///
    /// Not stopped at 512: a response of exactly this length means that the value may go on.
    @inlinable public var read: Int { limit(header: 1) }

    /// Bytes of all values together in a Read Multiple Response (Core Vol 3 Part F §3.4.4.8).
    @inlinable public var readMultiple: Int { limit(header: 1) }

    /// Bytes a Find By Type Value Request can compare with (Core Vol 3 Part F §3.4.3.3).
    @inlinable public var findByTypeValue: Int {
        limit(header: 7, maximum: AttributeProtocol.maximumAttributeValueLength)
    }

    /// Value bytes in an entry of a Read By Type Response, whose length is one byte that also counts the handle
    /// (Core Vol 3 Part F §3.4.4.2).
    @inlinable public var readByType: Int { limit(header: 4, maximum: 253) }

    /// Value bytes in an entry of a Read By Group Type Response, whose length is one byte that also counts both
    /// handles (Core Vol 3 Part F §3.4.4.10).
    @inlinable public var readByGroupType: Int { limit(header: 6, maximum: 251) }
}

extension AttributeProtocol {
    /// A PDU in one line, whoever sent it: its name and fields, values in hexadecimal. What cannot be read is told with
    /// its bytes.
    public static func description(of pdu: RawSpan) -> String {
        guard let opcode = ATTOpcode(of: pdu) else { return "empty PDU" }
        do throws(ATTDecodingError) {
            return opcode.isSentByClient
                ? try ATTClientPDU(decoding: pdu).description : try ATTServerPDU(decoding: pdu).description
        } catch {
            return "malformed \(opcode) \([UInt8](pdu).hexadecimal) (\(error))"
        }
    }
}
