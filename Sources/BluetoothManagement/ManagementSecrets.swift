// The packets that carry keys, passkeys or out-of-band data, whose content must not be printed or recorded.

extension ManagementOpcode {
    /// Whether the command's parameters contain a key, a passkey or out-of-band data.
    public var carriesSecret: Bool {
        switch self {
        case .loadLinkKeys, .loadLongTermKeys, .loadIdentityResolvingKeys, .loadBlockedKeys, .setPrivacy, .pinCodeReply,
            .userPasskeyReply, .addRemoteOutOfBandData:
            return true
        // It may contain any command to the controller.
        case .hciCommandSync: return true
        default: return false
        }
    }

    /// Whether the reply contains out-of-band data, or a controller's answer to an arbitrary command.
    public var returnsSecret: Bool {
        switch self {
        case .readLocalOutOfBandData, .readLocalOutOfBandExtendedData, .hciCommandSync: return true
        default: return false
        }
    }
}

extension ManagementEventCode {
    /// Whether the event contains a key, a passkey or a number that a user compares.
    public var carriesSecret: Bool {
        switch self {
        case ManagementNewLongTermKey.code, ManagementNewIdentityResolvingKey.code,
            ManagementNewSignatureResolvingKey.code, ManagementUserConfirmationRequest.code,
            ManagementPasskeyNotify.code:
            return true
        // New Link Key, Local Out Of Band Extended Data Updated.
        case Self(rawValue: 0x0009), Self(rawValue: 0x0022): return true
        default: return false
        }
    }
}
