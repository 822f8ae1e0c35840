import BluetoothHCI

extension HCICommand {
    /// The family it belongs to, if it matters.
    var family: HCICommandFamily? {
        switch self {
        case .leSetAdvertisingParameters, .leSetAdvertisingData, .leSetScanResponseData, .leSetAdvertisingEnable,
            .leSetScanParameters, .leSetScanEnable, .leCreateConnection:
            return .legacy
        case .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
            .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet,
            .leClearAdvertisingSets, .leReadMaximumAdvertisingDataLength, .leReadNumberOfSupportedAdvertisingSets,
            .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection:
            return .extended
        default: return nil
        }
    }

    /// Whether Command Status answers it, and another event follows later.
    var isAnsweredByStatus: Bool {
        switch self {
        case .disconnect, .leCreateConnection, .leExtendedCreateConnection, .leConnectionUpdate, .leReadRemoteFeatures,
            .leSetPHY:
            return true
        // A controller answers unknown commands with Command Status as well.
        case .unknown: return true
        default: return false
        }
    }

    /// The handle of the connection it is about.
    var connectionHandle: ConnectionHandle? {
        switch self {
        case .disconnect(let handle, _), .readRSSI(let handle), .readTransmitPowerLevel(let handle, _),
            .leConnectionUpdate(let handle, _, _), .leReadRemoteFeatures(let handle),
            .leSetDataLength(let handle, _, _), .leReadPHY(let handle), .leSetPHY(let handle, _):
            return handle
        default: return nil
        }
    }
}
