// The modules that the snippets import. Generated from the pages:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

@_exported import BluetoothGateway
@_exported import BluetoothLE
@_exported import BluetoothProfiles
@_exported import BluetoothSimulation
@_exported import Foundation
@_exported import Glibc
@_exported import LINBLE
@_exported import LINBLESimulation
@_exported import Testing
