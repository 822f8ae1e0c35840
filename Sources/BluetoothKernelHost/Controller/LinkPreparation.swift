/// What the kernel needs while links to a device are created; dropping it undoes it.
//
// Lives on the loop, with the request.
final class LinkPreparation {
    private let initialParameters: InitialParameters
    private let phyPolicy: PHYPolicy
    var following: LinkFollowing?

    init(_ initialParameters: InitialParameters, _ phyPolicy: PHYPolicy) {
        (self.initialParameters, self.phyPolicy) = (initialParameters, phyPolicy)
    }

    deinit {
        initialParameters.end(id)
        phyPolicy.end(id)
    }

    /// What it needs is known by this.
    var id: ObjectIdentifier { ObjectIdentifier(self) }
}
