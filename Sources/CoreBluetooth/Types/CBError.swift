public import CCoreBluetooth

/// The domain of Core Bluetooth's own errors.
public let CBErrorDomain: String = "CBErrorDomain"

/// The domain of errors of attribute servers.
public let CBATTErrorDomain: String = "CBATTErrorDomain"

/// An error of Core Bluetooth.
///
/// `error as? CBError`, `catch CBError.connectionTimeout`, `(error as NSError).code` and `localizedDescription` work on
/// every error that a delegate receives. Unlike on Apple's systems an `NSError` that a program creates itself is not
/// bridged to it.
public struct CBError: _BridgedStoredNSError, Sendable {
    /// The error's code.
    public typealias Code = CBErrorCode

    /// The underlying Foundation error.
    public let _nsError: NSError

    /// Creates an error from a Foundation error.
    public init(_nsError error: NSError) {
        _nsError = error.described(as: CBErrorDomain, by: Self.description(of: error.code))
    }

    /// The domain of these errors.
    public static var _nsErrorDomain: String { CBErrorDomain }

    /// An unknown error.
    public static var unknown: Code { .unknown }
    /// The arguments are invalid.
    public static var invalidParameters: Code { .invalidParameters }
    /// There is no such attribute.
    public static var invalidHandle: Code { .invalidHandle }
    /// The device is not connected.
    public static var notConnected: Code { .notConnected }
    /// There is no room left.
    public static var outOfSpace: Code { .outOfSpace }
    /// The operation was cancelled.
    public static var operationCancelled: Code { .operationCancelled }
    /// The device was lost.
    public static var connectionTimeout: Code { .connectionTimeout }
    /// The device ended the connection.
    public static var peripheralDisconnected: Code { .peripheralDisconnected }
    /// The UUID belongs to the system.
    public static var uuidNotAllowed: Code { .uuidNotAllowed }
    /// The program advertises already.
    public static var alreadyAdvertising: Code { .alreadyAdvertising }
    /// The connection could not be established.
    public static var connectionFailed: Code { .connectionFailed }
    /// There are too many connections.
    public static var connectionLimitReached: Code { .connectionLimitReached }
    /// The device is unknown; Apple's former spelling.
    public static var unkownDevice: Code { .unkownDevice }
    /// The device is unknown.
    public static var unknownDevice: Code { .unknownDevice }
    /// The operation is not supported.
    public static var operationNotSupported: Code { .operationNotSupported }
    /// The device has removed its pairing information.
    public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
    /// The link was not encrypted in time.
    public static var encryptionTimedOut: Code { .encryptionTimedOut }
    /// Too many devices are paired.
    public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
    /// Too many notifications came while the program was in the background.
    public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
    /// Almost too many notifications came while the program was in the background.
    public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }

    private static func description(of code: Int) -> String {
        switch Code(rawValue: code) {
        case .invalidParameters: "The parameters are invalid."
        case .invalidHandle: "The attribute no longer exists."
        case .notConnected: "The device is not connected."
        case .outOfSpace: "There is no room left for this."
        case .operationCancelled: "The operation was cancelled."
        case .connectionTimeout: "The device was lost: the connection has timed out."
        case .peripheralDisconnected: "The device ended the connection."
        case .uuidNotAllowed: "The UUID belongs to the system."
        case .alreadyAdvertising: "This program advertises already."
        case .connectionFailed: "The connection could not be established."
        case .connectionLimitReached: "There are too many connections."
        case .unkownDevice: "The device is unknown."
        case .operationNotSupported: "The operation is not supported."
        case .peerRemovedPairingInformation: "The device has removed its pairing information."
        case .encryptionTimedOut: "The link was not encrypted in time."
        case .tooManyLEPairedDevices: "Too many devices are paired."
        default: "An unknown error has occurred."
        }
    }
}

extension CBErrorCode: @retroactive _ErrorCodeProtocol {
    /// The error type of the code.
    public typealias _ErrorType = CBError
}

/// An error response of a device's attribute server, or of this one.
///
/// Codes that the specification does not assign to the protocol, such as application errors (0x80 to 0x9F), are values
/// as well: `CBATTError.Code(rawValue: 0x80)`.
public struct CBATTError: _BridgedStoredNSError, Sendable {
    /// The error's code.
    public typealias Code = CBATTErrorCode

    /// The underlying Foundation error.
    public let _nsError: NSError

    /// Creates an error from a Foundation error.
    public init(_nsError error: NSError) {
        _nsError = error.described(as: CBATTErrorDomain, by: Self.description(of: error.code))
    }

    /// The domain of these errors.
    public static var _nsErrorDomain: String { CBATTErrorDomain }

    /// No error.
    public static var success: Code { .success }
    /// There is no such handle.
    public static var invalidHandle: Code { .invalidHandle }
    /// The attribute cannot be read.
    public static var readNotPermitted: Code { .readNotPermitted }
    /// The attribute cannot be written.
    public static var writeNotPermitted: Code { .writeNotPermitted }
    /// The request was malformed.
    public static var invalidPdu: Code { .invalidPdu }
    /// The link has to be authenticated first.
    public static var insufficientAuthentication: Code { .insufficientAuthentication }
    /// The server does not support the request.
    public static var requestNotSupported: Code { .requestNotSupported }
    /// The offset is past the end of the value.
    public static var invalidOffset: Code { .invalidOffset }
    /// The client has to be authorised first.
    public static var insufficientAuthorization: Code { .insufficientAuthorization }
    /// Too many prepared writes are queued.
    public static var prepareQueueFull: Code { .prepareQueueFull }
    /// There is no such attribute.
    public static var attributeNotFound: Code { .attributeNotFound }
    /// The attribute cannot be read in parts.
    public static var attributeNotLong: Code { .attributeNotLong }
    /// The link's key is too short.
    public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
    /// The value has the wrong length.
    public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
    /// An error that no other code describes.
    public static var unlikelyError: Code { .unlikelyError }
    /// The link has to be encrypted first.
    public static var insufficientEncryption: Code { .insufficientEncryption }
    /// The type does not group attributes.
    public static var unsupportedGroupType: Code { .unsupportedGroupType }
    /// The server has no memory left for the request.
    public static var insufficientResources: Code { .insufficientResources }

    private static func description(of code: Int) -> String {
        switch Code(rawValue: code) {
        case .success: "No error."
        case .invalidHandle: "The handle is invalid."
        case .readNotPermitted: "Reading is not permitted."
        case .writeNotPermitted: "Writing is not permitted."
        case .invalidPdu: "The request was malformed."
        case .insufficientAuthentication: "Authentication is insufficient."
        case .requestNotSupported: "The request is not supported."
        case .invalidOffset: "The offset is past the end of the value."
        case .insufficientAuthorization: "Authorization is insufficient."
        case .prepareQueueFull: "Too many prepared writes are queued."
        case .attributeNotFound: "The attribute could not be found."
        case .attributeNotLong: "The attribute cannot be read in parts."
        case .insufficientEncryptionKeySize: "The encryption key is too short."
        case .invalidAttributeValueLength: "The value has the wrong length."
        case .unlikelyError: "An unlikely error has occurred."
        case .insufficientEncryption: "Encryption is insufficient."
        case .unsupportedGroupType: "The group type is not supported."
        case .insufficientResources: "The device lacks the resources for this."
        default: "The device refused with code 0x\(String(code, radix: 16, uppercase: true))."
        }
    }
}

extension CBATTErrorCode: @retroactive _ErrorCodeProtocol {
    /// The error type of the code.
    public typealias _ErrorType = CBATTError
}

extension NSError {
    /// The same error with a description, which Foundation reads from the user information alone.
    fileprivate func described(as domain: String, by text: String) -> NSError {
        guard self.domain == domain, !(self is DescribedError) else { return self }
        return DescribedError(
            domain: domain, code: code, userInfo: userInfo.merging([NSLocalizedDescriptionKey: text]) { own, _ in own })
    }
}

/// An error that prints its description; Foundation's own prints "(null)" on Linux. Unchecked, since a subclass has to
/// be: it adds no stored state, and an `NSError` is immutable.
private final class DescribedError: NSError, @unchecked Sendable {
    override var description: String {
        let details = userInfo.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: ", ")
        return "Error Domain=\(domain) Code=\(code) \"\(localizedDescription)\" UserInfo={\(details)}"
    }
}
