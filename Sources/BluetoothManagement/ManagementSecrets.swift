// Which packets carry keys, passkeys or out-of-band data: nobody prints or records what stands in them.

extension ManagementOpcode {
    /// Whether the command's parameters have a key, a passkey or out-of-band data.
    public var carriesSecret: Bool {
        switch self {
        case .loadLinkKeys, .loadLongTermKeys, .loadIdentityResolvingKeys, .loadBlockedKeys, .setPrivacy, .pinCodeReply,
            .userPasskeyReply, .addRemoteOutOfBandData:
            return true
        // It may be any command to the controller.
        case .hciCommandSync: return true
        default: return false
        }
    }

    /// Whether what the command returns has out-of-band data, or what a controller answers to any command.
    public var answersWithSecret: Bool {
        switch self {
        case .readLocalOutOfBandData, .readLocalOutOfBandExtendedData, .hciCommandSync: return true
        default: return false
        }
    }
}

extension ManagementEventCode {
    /// Whether the event has a key, a passkey or a number that a user compares.
    public var carriesSecret: Bool {
        switch self {
        case .newLinkKey, .newLongTermKey, .newIdentityResolvingKey, .newSignatureResolvingKey,
            .userConfirmationRequest, .passkeyNotify, .localOutOfBandExtendedDataUpdated:
            return true
        default: return false
        }
    }
}
