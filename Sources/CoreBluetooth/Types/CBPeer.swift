public import Foundation
import BluetoothPrimitives

/// A remote device: a peripheral or a central.
//
// Sendable unchecked, since NSObject is not: its own properties are constant.
open class CBPeer: NSObject, NSCopying, @unchecked Sendable {
    let address: BluetoothAddress
    private let uuid: UUID

    init(_ address: BluetoothAddress) {
        self.address = address
        uuid = UUID(address)
        super.init()
    }

    /// The identifier of the device: on Linux its address in another form, so it is the same in every run and on every
    /// machine, for as long as the device keeps its address.
    open var identifier: UUID { uuid }

    /// Returns the object itself.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}
