import BluetoothPrimitives

/// The constants of the Attribute Protocol.
public enum AttributeProtocol {
    /// The ATT_MTU of an LE link before an exchange, in bytes (Core Vol 3 Part G §5.2.1).
    @inlinable public static var defaultMTU: Int { 23 }

    /// The maximum length of an attribute value, in bytes (Core Vol 3 Part F §3.2.9).
    @inlinable public static var maximumAttributeValueLength: Int { 512 }

    /// The time in which a response or a confirmation must arrive; after it the bearer is unusable
    /// (Core Vol 3 Part F §3.3.3).
    @inlinable public static var transactionTimeout: Duration { .seconds(30) }

    /// The L2CAP protocol/service multiplexer of enhanced bearers (Assigned Numbers §2.1).
    @inlinable public static var enhancedProtocolServiceMultiplexer: UInt16 { 0x0027 }

    /// The ATT_MTU after an exchange: the smaller of the two receive MTUs, at least ``defaultMTU``
    /// (Core Vol 3 Part F §3.4.2.2).
    @inlinable
    public static func mtu(clientReceiveMTU: UInt16, serverReceiveMTU: UInt16) -> Int {
        max(defaultMTU, Int(min(clientReceiveMTU, serverReceiveMTU)))
    }
}

/// The maximum lengths of values in one PDU at an ATT_MTU.
///
/// A sender truncates values to these lengths. The lengths of complete values are also limited to the 512 bytes of an
/// attribute value.
@frozen
public struct ATTValueLimits: Hashable, Sendable {
    /// The ATT_MTU in bytes.
    public let mtu: Int

    /// The limits at the ATT_MTU `mtu`.
    @inlinable
    public init(mtu: Int) {
        self.mtu = mtu
    }

    @inlinable
    func limit(header: Int, maximum: Int = AttributeProtocol.maximumAttributeValueLength) -> Int {
        mtu > header ? min(mtu - header, maximum) : 0
    }

    /// The value bytes in a Handle Value Notification or Indication, or in the only entry of a multiple notification
    /// (Core Vol 3 Part F §3.4.7.1).
    @inlinable public var notification: Int { limit(header: 3) }

    /// The value bytes in a Write Request or Write Command (Core Vol 3 Part F §3.4.5.1).
    @inlinable public var write: Int { limit(header: 3) }

    /// The bytes of the part in a Prepare Write Request (Core Vol 3 Part F §3.4.6.1).
    @inlinable public var prepareWrite: Int { limit(header: 5) }

    /// The value bytes in a Read Response or Read Blob Response (Core Vol 3 Part F §3.4.4.4).
    ///
    /// Not limited to 512: after a response of exactly this length the value may continue.
    @inlinable public var read: Int { limit(header: 1, maximum: .max) }

    /// The bytes of all values in a Read Multiple Response (Core Vol 3 Part F §3.4.4.8).
    @inlinable public var readMultiple: Int { limit(header: 1, maximum: .max) }

    /// The value bytes that a Find By Type Value Request can match (Core Vol 3 Part F §3.4.3.3).
    @inlinable public var findByTypeValue: Int { limit(header: 7) }

    /// The value bytes in an entry of a Read By Type Response, whose one-byte length includes the handle
    /// (Core Vol 3 Part F §3.4.4.2).
    @inlinable public var readByType: Int { limit(header: 4, maximum: 253) }

    /// The value bytes in an entry of a Read By Group Type Response, whose one-byte length includes both handles (Core
    /// Vol 3 Part F §3.4.4.10).
    @inlinable public var readByGroupType: Int { limit(header: 6, maximum: 251) }
}

extension AttributeProtocol {
    /// A PDU of either direction in one line: its name and fields, values in hexadecimal. A malformed PDU appears with
    /// its bytes and its defect.
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
