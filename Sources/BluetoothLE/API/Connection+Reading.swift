import BluetoothATT
import BluetoothPrimitives
import BluetoothGATT

// A `timeout` is the most time the caller waits; nil leaves the 30 s that the Attribute Protocol gives each request. The
// request in flight keeps its place on the link until it is answered, so a late answer never reaches another caller.
extension Connection {
    /// Agrees on the largest PDU with the peer (Core Vol 3 Part G §4.3.1).
    ///
    /// Done once, when the link has come up; an adapter that connects has done so. `mtu` is 23 to 517 bytes, and not more
    /// than the connection was made for; what is not counts as the nearest that is.
    public nonisolated(nonsending) func exchangeMTU(offering mtu: UInt16, timeout: Duration? = nil)
        async throws(BluetoothError)
    {
        try await core { (link) async throws(BluetoothError) in
            try await link.exchangeMTU(offering: mtu, timeout: timeout)
        }
    }

    /// Reads a whole value, up to 512 bytes, in as many requests as it takes (Core Vol 3 Part G §4.8.1, §4.8.3).
    public nonisolated(nonsending) func read(
        _ attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [UInt8] {
        try await core { (link) async throws(BluetoothError) in try await link.read(attribute, timeout: timeout) }
    }

    /// Writes a value and waits until the peer has taken it.
    ///
    /// Up to ``maximumCommandLength`` bytes go in one Write Request (Core Vol 3 Part G §4.9.3), up to 512 bytes in
    /// prepared parts whose echo is compared and that the peer writes all at once (§4.9.4).
    /// - Throws: `.invalidArgument` for more than 512 bytes, besides what every call throws.
    public nonisolated(nonsending) func write(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.write(value, to: attribute, timeout: timeout)
        }
    }

    /// Orders the peer to write a value, without an answer (Core Vol 3 Part G §4.9.1).
    ///
    /// Returns as soon as the kernel has the command, and waits for that while its buffer is full: commands are neither
    /// lost nor reordered on this side, and a fast sender is slowed down to the link's pace.
    /// - Throws: `.invalidArgument` for more than ``maximumCommandLength`` bytes, besides what every call throws.
    public nonisolated(nonsending) func writeCommand(
        _ value: [UInt8], to attribute: some RemoteAttribute, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.writeCommand(value, to: attribute, timeout: timeout)
        }
    }

    /// Reads a descriptor and takes its value in the terms of its kind (Core Vol 3 Part G §4.12.1, §3.3.3).
    ///
    /// A value without the form of its kind is ``DescriptorValue/other(_:_:)`` with its bytes.
    public nonisolated(nonsending) func readValue(
        of descriptor: RemoteDescriptor, timeout: Duration? = nil
    ) async throws(BluetoothError) -> DescriptorValue {
        try await core { (link) async throws(BluetoothError) in
            try await link.readValue(of: descriptor, timeout: timeout)
        }
    }

    /// Reads the properties of a characteristic that have no room in its declaration (Core Vol 3 Part G §3.3.3.1):
    /// whether it takes ``writeReliably(_:timeout:)``, and whether its user description may be written.
    ///
    /// A characteristic whose declaration says that it has none is not asked, nor one without the descriptor.
    public nonisolated(nonsending) func extendedProperties(
        of characteristic: RemoteCharacteristic, timeout: Duration? = nil
    ) async throws(BluetoothError) -> CharacteristicExtendedProperties {
        try await core { (link) async throws(BluetoothError) in
            try await link.extendedProperties(of: characteristic, timeout: timeout)
        }
    }

    /// Reads the values of all attributes of a type, without having discovered where they are
    /// (Core Vol 3 Part G §4.8.2).
    ///
    /// Several values take one request where they have the same length and fit into one answer.
    /// - Parameters:
    ///   - uuid: what the attributes are, most often a characteristic's UUID.
    ///   - range: where to look, such as ``RemoteService/handles``.
    ///   - timeout: the most time to wait for everything.
    /// - Returns: the values in the order of their handles; none when there is no such attribute.
    /// - Throws: ``BluetoothError``: `.attributeProtocol` when one of the values may not be read; its handle is in the
    ///   error.
    public nonisolated(nonsending) func readValues(
        of uuid: BluetoothUUID, in range: AttributeHandleRange = .all, timeout: Duration? = nil
    ) async throws(BluetoothError) -> [RemoteValue] {
        try await core { (link) async throws(BluetoothError) in
            try await link.readValues(of: uuid, in: range, timeout: timeout)
        }
    }

    /// Reads several values in as few requests as the ATT_MTU allows (Core Vol 3 Part G §4.8.5).
    ///
    /// A value that an answer has no room for is asked for again, a long one is read on in parts. A peer that does not
    /// know the request, or answers it as it must not, is asked so once on a link, and its values are read one by one.
    /// - Returns: the whole values, in the order asked for.
    /// - Throws: ``BluetoothError``: `.attributeProtocol` when one of the values may not be read; its handle is in the
    ///   error.
    public nonisolated(nonsending) func read(
        _ attributes: [any RemoteAttribute], timeout: Duration? = nil
    ) async throws(BluetoothError) -> [[UInt8]] {
        try await core { (link) async throws(BluetoothError) in try await link.read(attributes, timeout: timeout) }
    }

    /// Reads several values whose lengths are known in as few requests as the ATT_MTU allows
    /// (Core Vol 3 Part G §4.8.4).
    ///
    /// Serves peers of before Bluetooth 5.2, which do not know ``read(_:timeout:)``'s request. An answer has nothing
    /// between the values: when it is not as long as they are together, they are read one by one, as they are when the
    /// peer does not know the request.
    /// - Parameters:
    ///   - attributes: what to read.
    ///   - lengths: how many bytes each value has.
    ///   - timeout: the most time to wait for everything.
    /// - Returns: the values, in the order asked for.
    /// - Throws: ``BluetoothError``: `.invalidArgument` when there are not as many lengths as attributes,
    ///   `.attributeProtocol` when one of the values may not be read; its handle is in the error.
    public nonisolated(nonsending) func read(
        _ attributes: [any RemoteAttribute], lengths: [Int], timeout: Duration? = nil
    ) async throws(BluetoothError) -> [[UInt8]] {
        try await core { (link) async throws(BluetoothError) in
            try await link.read(attributes, lengths: lengths, timeout: timeout)
        }
    }

    /// Writes several values, or parts of values, all at once or not at all (Core Vol 3 Part G §4.9.5).
    ///
    /// The peer holds back what it is sent and repeats it; only when every repetition is right is it told to write. When
    /// anything is refused or differs, or the caller gives up in between, it is told to forget everything. A peer says
    /// whether a characteristic can be written like this in its ``extendedProperties(of:timeout:)``.
    /// - Parameters:
    ///   - writes: what to write, in this order; each within the 512 bytes of a value.
    ///   - timeout: the most time to wait for everything.
    /// - Throws: ``BluetoothError``: `.invalidArgument` before anything is sent when one does not fit into a value,
    ///   `.attributeProtocol` when the peer refuses (``ATTErrorCode/prepareQueueFull`` when it cannot hold as much),
    ///   `.protocolViolation` when it repeats something else.
    public nonisolated(nonsending) func writeReliably(
        _ writes: [AttributeWrite], timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in try await link.writeReliably(writes, timeout: timeout) }
    }

    /// The longest value a Signed Write Command carries: ATT_MTU − 15 bytes (Core Vol 3 Part F §3.4.5.4).
    public var maximumSignedLength: Int {
        get async { await core { $0.maximumSignedLength } }
    }

    /// Orders a bonded peer to write a value, signed in place of encrypted and without an answer
    /// (Core Vol 3 Part G §4.9.2).
    ///
    /// Over a link that is encrypted a plain Write Command is sent, as the specification demands. Returns as soon as the
    /// kernel has the command, like ``writeCommand(_:to:timeout:)``. A peer that does not know the signature's key, or
    /// has seen its counter, drops the command without a word.
    /// - Parameters:
    ///   - value: at most ``maximumSignedLength`` bytes.
    ///   - attribute: where to; a characteristic has to have the property `authenticatedSignedWrites`.
    ///   - signer: has the key that the peer knows from the bonding.
    ///   - timeout: the most time to wait for room.
    /// - Throws: `.unsupported` for a characteristic without that property, `.invalidArgument` for a longer value,
    ///   besides what every call throws.
    public nonisolated(nonsending) func writeSigned(
        _ value: [UInt8], to attribute: some RemoteAttribute, signer: some AttributeSigner, timeout: Duration? = nil
    ) async throws(BluetoothError) {
        try await core { (link) async throws(BluetoothError) in
            try await link.writeSigned(value, to: attribute, signer: signer, timeout: timeout)
        }
    }
}
