// The codes of Core Bluetooth's errors, as C enumerations: only those are open, so that a device's own ATT error codes
// (0x80 and up) are values of the type as they are on Apple's systems, and `@unknown default` is reached.
#pragma once

/// The code of an error in CBErrorDomain.
typedef enum __attribute__((enum_extensibility(open))) CBErrorCode : long {
    /// An unknown error.
    CBErrorCodeUnknown = 0,
    /// The arguments are invalid.
    CBErrorCodeInvalidParameters = 1,
    /// There is no such attribute.
    CBErrorCodeInvalidHandle = 2,
    /// The device is not connected.
    CBErrorCodeNotConnected = 3,
    /// There is no room left.
    CBErrorCodeOutOfSpace = 4,
    /// The operation was cancelled.
    CBErrorCodeOperationCancelled = 5,
    /// The device was lost.
    CBErrorCodeConnectionTimeout = 6,
    /// The device ended the connection.
    CBErrorCodePeripheralDisconnected = 7,
    /// The UUID belongs to the system.
    CBErrorCodeUUIDNotAllowed = 8,
    /// The program advertises already.
    CBErrorCodeAlreadyAdvertising = 9,
    /// The connection could not be established.
    CBErrorCodeConnectionFailed = 10,
    /// There are too many connections.
    CBErrorCodeConnectionLimitReached = 11,
    /// The device is unknown; Apple's former spelling.
    CBErrorCodeUnkownDevice = 12,
    /// The device is unknown.
    CBErrorCodeUnknownDevice = 12,
    /// The operation is not supported.
    CBErrorCodeOperationNotSupported = 13,
    /// The device has removed its pairing information.
    CBErrorCodePeerRemovedPairingInformation = 14,
    /// The link was not encrypted in time.
    CBErrorCodeEncryptionTimedOut = 15,
    /// Too many devices are paired.
    CBErrorCodeTooManyLEPairedDevices = 16,
    /// Too many notifications came while the program was in the background.
    CBErrorCodeLeGattExceededBackgroundNotificationLimit = 17,
    /// Almost too many notifications came while the program was in the background.
    CBErrorCodeLeGattNearBackgroundNotificationLimit = 18,
} CBErrorCode;

/// The code of an error in CBATTErrorDomain (Core Vol 3 Part F 3.4.1.1).
typedef enum __attribute__((enum_extensibility(open))) CBATTErrorCode : long {
    /// No error.
    CBATTErrorCodeSuccess = 0,
    /// There is no such handle.
    CBATTErrorCodeInvalidHandle = 1,
    /// The attribute cannot be read.
    CBATTErrorCodeReadNotPermitted = 2,
    /// The attribute cannot be written.
    CBATTErrorCodeWriteNotPermitted = 3,
    /// The request was malformed.
    CBATTErrorCodeInvalidPdu = 4,
    /// The link has to be authenticated first.
    CBATTErrorCodeInsufficientAuthentication = 5,
    /// The server does not support the request.
    CBATTErrorCodeRequestNotSupported = 6,
    /// The offset is past the end of the value.
    CBATTErrorCodeInvalidOffset = 7,
    /// The client has to be authorised first.
    CBATTErrorCodeInsufficientAuthorization = 8,
    /// Too many prepared writes are queued.
    CBATTErrorCodePrepareQueueFull = 9,
    /// There is no such attribute.
    CBATTErrorCodeAttributeNotFound = 10,
    /// The attribute cannot be read in parts.
    CBATTErrorCodeAttributeNotLong = 11,
    /// The link's key is too short.
    CBATTErrorCodeInsufficientEncryptionKeySize = 12,
    /// The value has the wrong length.
    CBATTErrorCodeInvalidAttributeValueLength = 13,
    /// An error that no other code describes.
    CBATTErrorCodeUnlikelyError = 14,
    /// The link has to be encrypted first.
    CBATTErrorCodeInsufficientEncryption = 15,
    /// The type does not group attributes.
    CBATTErrorCodeUnsupportedGroupType = 16,
    /// The server has no memory left for the request.
    CBATTErrorCodeInsufficientResources = 17,
} CBATTErrorCode;
