import BluetoothATT
import BluetoothGATT
import Testing

/// Two battery services, the second with two levels; a secondary service that the first includes.
private let tree = RemoteDatabase(services: [
    RemoteService(
        uuid: 0x180F, handles: AttributeHandleRange(start: 0x01, end: 0x05),
        includedServices: [
            RemoteIncludedService(
                uuid: 0x1234, handles: AttributeHandleRange(start: 0x10, end: 0x10), declarationHandle: 0x02)
        ],
        characteristics: [
            RemoteCharacteristic(
                uuid: 0x2A1A, properties: .read, declarationHandle: 0x03, valueHandle: 0x04, endHandle: 0x05,
                descriptors: [RemoteDescriptor(uuid: 0x2904, handle: 0x05)])
        ]),
    RemoteService(
        uuid: 0x180F, handles: AttributeHandleRange(start: 0x06, end: 0x0B),
        characteristics: [
            RemoteCharacteristic(
                uuid: 0x2A19, properties: .read, declarationHandle: 0x07, valueHandle: 0x08, endHandle: 0x08),
            RemoteCharacteristic(
                uuid: 0x2A19, properties: .notify, declarationHandle: 0x09, valueHandle: 0x0A, endHandle: 0x0B,
                descriptors: [
                    RemoteDescriptor(uuid: 0x2904, handle: 0x0A), RemoteDescriptor(uuid: 0x2904, handle: 0x0B),
                ]),
        ]),
    RemoteService(uuid: 0x1234, handles: AttributeHandleRange(start: 0x10, end: 0x10), isPrimary: false),
])

@Suite struct RemoteDatabaseLookupTests {
    @Test("a UUID selects the first match, and plural methods return all")
    func services() {
        #expect(tree.service(0x180F) == tree[0])
        #expect(tree.services(0x180F) == [tree[0], tree[1]])
        #expect(tree.service("0000180F-0000-1000-8000-00805F9B34FB") == tree[0])
        #expect(tree.service(0x1800) == nil)
        #expect(tree.services(0x1800) == [])
    }

    @Test("all services with the same UUID are searched in order")
    func characteristics() {
        #expect(tree.characteristic(0x2A1A, in: 0x180F)?.valueHandle == 0x04)
        #expect(tree.characteristic(0x2A19, in: 0x180F)?.valueHandle == 0x08)
        #expect(tree.characteristic(0x2A19, in: 0x1234) == nil)
        #expect(tree.characteristics(0x2A19).map(\.valueHandle) == [0x08, 0x0A])
        #expect(tree[1].characteristics(0x2A19).map(\.valueHandle) == [0x08, 0x0A])
        #expect(tree[1].characteristic(0x2A19)?.valueHandle == 0x08)
        #expect(tree[0].characteristic(0x2A19) == nil)
    }

    @Test("handles distinguish descriptors with the same UUID")
    func descriptors() {
        let level = tree[1].characteristics[1]
        #expect(level.descriptor(0x2904)?.handle == 0x0A)
        #expect(level.descriptors(0x2904).map(\.handle) == [0x0A, 0x0B])
        #expect(level.descriptor(0x2902) == nil)
    }

    @Test("a handle selects its service and its characteristic")
    func handles() {
        #expect(tree.service(containing: 0x08) == tree[1])
        #expect(tree.service(containing: 0x0C) == nil)
        #expect(tree.characteristic(containing: 0x03)?.uuid == 0x2A1A)
        #expect(tree.characteristic(containing: 0x05)?.uuid == 0x2A1A)
        #expect(tree.characteristic(containing: 0x0B)?.declarationHandle == 0x09)
        #expect(tree.characteristic(containing: 0x06) == nil)
        #expect(tree.characteristic(containing: 0x10) == nil)
    }

    @Test("an include selects the service it refers to")
    func includes() {
        #expect(tree.service(tree[0].includedServices[0]) == tree[2])
    }
}
