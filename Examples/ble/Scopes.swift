import ExampleSupport

/// The scope of `scan`: the device's name and address are filters.
enum ScanScope: OptionScope {
    static let groups: OptionGroups = [.name, .address, .identity, .longRange, .opening, .bonds, .trace]
    static let allowsSeveralAdapters = true
}

/// The scope of `advertise`, whose name is the one to advertise.
enum PeripheralScope: OptionScope {
    typealias Name = AdvertisedNameOptions<BleCommand>
    static let groups: OptionGroups = [.name, .opening, .bonds, .trace]
}

/// The scope of `serve`, whose name is the one to advertise.
enum ServeScope: OptionScope {
    typealias Name = AdvertisedNameOptions<BleCommand>
    static let groups: OptionGroups = [.name, .keySize, .opening, .bonds, .trace]
}

/// The scope of `adapters`.
enum AdaptersScope: OptionScope {
    static let groups: OptionGroups = []
}

/// The scope of `power`.
enum PowerScope: OptionScope {
    static let groups: OptionGroups = [.opening, .trace]
    static let insteadOfTimeout: String? = nil
}

/// The scope of `bonds`.
enum BondsScope: OptionScope {
    static let groups: OptionGroups = [.address, .bonds]
    static let insteadOfTimeout: String? = nil
}

/// The scope of `decode`: the device's name and address are filters.
enum DecodeScope: OptionScope {
    static let groups: OptionGroups = [.name, .address]
    static let insteadOfTimeout: String? = nil
}
