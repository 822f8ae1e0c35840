import BluetoothPrimitives

/// Whether the kernel knows the keys of the bonds.
public enum BondStanding: Hashable, Sendable {
    /// It does: bonded devices reconnect without pairing again.
    case loaded
    /// Bonds are not this program's business; see ``BondKeeping/notKept``.
    case notKept
    /// It does not, since loading keys needs CAP_NET_ADMIN. Bonds can be looked at and removed.
    case notPermitted
    /// BlueZ's daemon is running, which loads its own keys and is told of those that pairing makes.
    case daemon
    /// The store could not be read, or the kernel has refused the keys.
    case failed(BluetoothError)
}

/// Something that happened to the bonds of an adapter.
public enum BondChange: Hashable, Sendable {
    /// A device was paired with, or something of its bond has changed, and the store has it.
    case kept(Bond)
    /// The same, and the store could not be written: the bond lasts as long as the adapter is open.
    case notKept(Bond, BluetoothError)
    /// A bond was removed, by this program or by another.
    case removed(BluetoothAddress)
    /// A bond was replaced by that with another device, because of the ``BondLimit``.
    case displaced(BluetoothAddress, by: BluetoothAddress)
    /// A pairing was refused, or its bond discarded, because of the ``BondLimit``. The address is the one that the device
    /// used, which may be private and change. Left out while 128 changes wait, since any device in range can cause it.
    case refused(BluetoothAddress)
}
