/// What the kernel needs while links to a device are created; dropping it undoes it.
//
// Lives on the loop, with the request.
final class LinkPreparation {
    private let initialParameters: InitialParameters
    private let phyPolicy: PHYPolicy
    /// The number of the device's initial parameters.
    var entry: UInt64?
    /// The number of the need for LE Coded.
    var hold: UInt64?
    var following: LinkFollowing?

    init(_ initialParameters: InitialParameters, _ phyPolicy: PHYPolicy) {
        (self.initialParameters, self.phyPolicy) = (initialParameters, phyPolicy)
    }

    deinit {
        if let entry { initialParameters.end(entry) }
        if let hold { phyPolicy.end(hold) }
    }
}
