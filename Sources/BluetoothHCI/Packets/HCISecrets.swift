// Packets with keys, passkeys or out-of-band data, whose contents must not be printed or recorded.

extension HCIOpcode {
    /// Whether the parameters of the command contain a key, a passkey or out-of-band data.
    public var carriesSecret: Bool {
        switch rawValue {
        // Link Key and PIN Code Request Reply, User Passkey Request Reply, Remote OOB Data Request Reply and Extended.
        case 0x040B, 0x040D, 0x042E, 0x0430, 0x0445: true
        // Create Physical Link and Accept Physical Link, of controllers with AMP: a key derived from the link key.
        case 0x0435, 0x0436: true
        // Write Stored Link Key.
        case 0x0C11: true
        // LE Encrypt, LE Enable Encryption, LE Long Term Key Request Reply, LE Add Device To Resolving List.
        case 0x2017, 0x2019, 0x201A, 0x2027: true
        // LE Create BIG, LE Create BIG Test, LE BIG Create Sync: the Broadcast_Code.
        case 0x2068, 0x2069, 0x206B: true
        default: false
        }
    }

    /// Whether the return parameters contain a key, out-of-band data, or key material.
    public var returnsSecret: Bool {
        switch rawValue {
        // Read Local OOB Data and Extended, LE Encrypt, LE Rand.
        case 0x0C57, 0x0C7D, 0x2017, 0x2018: true
        default: false
        }
    }
}

extension HCIEventCode {
    /// Whether the event contains a key or a passkey.
    public var carriesSecret: Bool {
        switch (code, subevent) {
        // Return Link Keys, Link Key Notification, User Confirmation Request, User Passkey Notification.
        case (0x15, _), (0x18, _), (0x33, _), (0x3B, _): true
        // LE Generate DHKey Complete.
        case (0x3E, 0x09): true
        default: false
        }
    }
}
