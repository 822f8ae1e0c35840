extension BluetoothUUID {
    /// The assigned name of the UUID (Assigned Numbers §3): a service, a declaration or descriptor, or a
    /// characteristic; nil for an unassigned UUID and for one that this package does not name.
    public var assignedName: String? { uint16.flatMap { Self.assignedNames[$0] } }
}
