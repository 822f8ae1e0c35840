import BluetoothHost
import BluetoothPrimitives
import BluetoothSystem

extension BluetoothError {
    /// The error for a system call on a file of a store.
    static func storageFailed(_ operation: Operation, _ path: String, _ error: KernelError) -> BluetoothError {
        let remedy =
            switch error.number {
            case .accessDenied, .notPermitted, .readOnlyFileSystem:
                "Give this user access to it, or pass another directory for the bond store."
            case .noSpace: "Make room on the disk."
            default: nil as String?
            }
        return BluetoothError(
            .storageFailed, operation, "\(path) cannot be read or written.", remedy: remedy, cause: .kernel(error))
    }

    /// A file with secrets, or the folder of such files.
    enum SecretPlace {
        case file, folder
    }

    /// The error for a secret file, or its folder, that is not used, with the command that mends it.
    static func unusable(
        _ place: SecretPlace, _ path: String, _ failure: SecretFile.Failure, _ operation: Operation
    ) -> BluetoothError {
        let user = SystemFiles.userIdentifier
        let sudo = user == 0 ? "" : "sudo "
        let word = "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
        switch failure {
        case .missing: return BluetoothError(.notFound, operation, "There is no file \(path).")
        case .notRegular:
            return .invalidArgument(operation, "\(path) is not a \(place == .file ? "regular file" : "folder").")
        case .symbolicLink:
            return BluetoothError(
                .notPermitted, operation, "\(path) is a symbolic link, which is not followed.",
                remedy: "See where it leads: readlink -f \(word)\nThen name that file, or put it in the link's place.")
        case .accessible(let mode, let owner):
            let access = place == .file ? "Other users have access to" : "Other users can put files into"
            let command = "chmod \(place == .file ? "600" : "700") \(word)"
            return BluetoothError(
                .notPermitted, operation,
                "\(access) \(path) (mode 0\(String(mode, radix: 8))), which is for its user alone.",
                remedy: "Keep it to yourself: "
                    + (owner == user ? command : "sudo chown \(user) \(word) && \(command)"))
        case .foreign(let owner):
            let option = place == .file ? "" : "-R "
            return BluetoothError(
                .notPermitted, operation,
                "\(path) belongs to another user (\(owner)), who can change \(place == .file ? "it" : "what is in it").",
                remedy: "Take it over: \(sudo)chown \(option)\(user) \(word)\nOr run the program as its owner.")
        case .tooLong: return .invalidArgument(operation, "\(path) is too large.")
        case .failed(let error): return .storageFailed(operation, path, error)
        }
    }
}

extension SecretFile {
    /// Checks several folders, see ``checkFolder(_:)``.
    package static func checkFolders(
        _ folders: [String], _ operation: BluetoothError.Operation
    ) throws(BluetoothError) {
        for folder in folders {
            do throws(SecretFile.Failure) {
                try SecretFile.checkFolder(folder)
            } catch {
                throw .unusable(.folder, folder, error, operation)
            }
        }
    }
}
