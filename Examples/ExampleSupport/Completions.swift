import ArgumentParser
import BluetoothLE
import BluetoothSystem

/// What the shell offers for an argument. Nothing here uses an adapter, so that the answer is immediate.
extension CompletionKind {
    /// The names of the machine's adapters, or of the simulated one after --simulate.
    public static let adapters = custom { words, _, _ in
        words.contains("--simulate") ? ["hci0"] : adapterNames(in: "/sys/class/bluetooth")
    }

    /// The names of attributes.
    public static let attributes = custom { _, _, _ in AttributeName.all(in: AttributeName.characteristics) }

    /// The names of services.
    public static let services = custom { _, _, _ in AttributeName.all(in: AttributeName.services) }

    /// The names of companies.
    public static let companies = custom { _, _, _ in ManufacturerData.companyNames }

    /// Words, and the files of a type in the directory that is being typed, or in the current one.
    public static func words(_ words: [String], orFilesEndingIn ending: String) -> CompletionKind {
        custom { _, _, prefix in words + fileNames(beginningWith: prefix, endingIn: ending) }
    }
}

func adapterNames(in directory: String) -> [String] {
    // A link has an entry there as well: hci0:64.
    let names = ((try? SystemFiles.names(in: directory)) ?? []).filter { $0.hasPrefix("hci") && !$0.contains(":") }
    return names.sorted { ($0.count, $0) < ($1.count, $1) }
}

/// The names in a directory, with a slash after those of directories; none if it cannot be read.
public func fileNames(in folder: String) -> [String] {
    let names = (try? SystemFiles.names(in: folder.isEmpty ? "." : folder)) ?? []
    return names.sorted().map { SystemFiles.exists(folder + $0 + "/.") ? $0 + "/" : $0 }
}

func fileNames(beginningWith prefix: String, endingIn ending: String) -> [String] {
    let folder = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
    let names = (try? SystemFiles.names(in: folder.isEmpty ? "." : folder)) ?? []
    return names.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }.sorted().map { folder + $0 }
}
