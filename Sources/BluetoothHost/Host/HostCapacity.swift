/// The room of an adapter for links and advertising sets.
//
// Lives on the loop, with the session.
package protocol HostCapacity: AnyObject {
    /// Registers the handler of the end of any link, this program's or another's. Ends are reported while links are
    /// followed (``HostLinks/beginFollowing()``).
    func follow(onLinkEnded: @escaping () -> Void)

    /// The number of the adapter's links, this program's and others'; nil if they cannot be counted.
    func countLinks() -> Int?

    /// The number of advertising sets, and of those in use; nil if they cannot be counted.
    nonisolated(nonsending) func advertisingSets() async -> (count: Int, inUse: Int)?
}
