/// The advertising sets and links of an adapter: how many there are, and how many there can be.
public struct AdapterCapacity: Hashable, Sendable {
    /// The number of advertising sets of the controller; nil where the program may not ask (CAP_NET_ADMIN).
    public var advertisingSets: Int?
    /// The number of them that are in use, by any program. The kernel does not list all of those of other programs, so
    /// there may be more.
    public var advertisingSetsInUse: Int?
    /// The number of open links of this ``Adapter``, whichever side created them.
    public var ownLinks: Int
    /// The number of open links of other programs, including those that this program uses for connection-oriented
    /// channels only; nil where they cannot be counted.
    public var otherLinks: Int?
    /// The number of links beyond which the controller has refused another because the link limit is reached; nil
    /// until it has.
    ///
    /// No controller reports its limit, and it may depend on what else the controller does.
    public var linkLimit: Int?
    /// The number of connects of this ``Adapter``, kept connections included, that wait until a link ends.
    public var waitingConnects: Int

    /// Creates a capacity from its parts.
    public init(
        advertisingSets: Int? = nil, advertisingSetsInUse: Int? = nil, ownLinks: Int = 0, otherLinks: Int? = nil,
        linkLimit: Int? = nil, waitingConnects: Int = 0
    ) {
        self.advertisingSets = advertisingSets
        self.advertisingSetsInUse = advertisingSetsInUse
        self.ownLinks = ownLinks
        self.otherLinks = otherLinks
        self.linkLimit = linkLimit
        self.waitingConnects = waitingConnects
    }

    /// The number of open links, as far as they are known.
    public var links: Int { ownLinks + (otherLinks ?? 0) }

    /// The number of further links, if the limit is known.
    public var freeLinks: Int? { linkLimit.map { max(0, $0 - links) } }
}
