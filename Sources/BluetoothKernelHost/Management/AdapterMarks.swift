import BluetoothHost
import BluetoothPrimitives
import BluetoothSockets

/// The marks by which the programs of this library that use an adapter see each other.
///
/// Only the kernel's own tables say otherwise who listens, and to root alone; nothing says which program has set an
/// advertising instance or started a scan. Other software holds no marks.
package struct AdapterMarks {
    /// What a program does while it holds a mark.
    package enum Kind: String {
        case listening, scanning, advertising
    }

    private let kernel: (any ProgramMarks)?
    /// The adapter's public address, since its index may be another's later; its place if it has none.
    private let adapter: String

    package init(of adapter: AdapterInformation, on kernel: any BluetoothKernel) {
        self.kernel = kernel as? any ProgramMarks
        let address = adapter.publicAddress
        self.adapter = address.isZero ? kernel.port(ofAdapter: adapter.index) : address.digits
    }

    private func name(_ kind: Kind, _ number: UInt8) -> String {
        "swift-bluetooth-le/\(adapter)/\(kind.rawValue)/\(number)"
    }

    /// Holds a mark: that of an advertising instance, otherwise the first that is free of sixteen.
    package func hold(_ kind: Kind, _ instance: UInt8? = nil) -> (any AnyObject & Sendable)? {
        (instance.map { $0...$0 } ?? 0...15).lazy.compactMap { kernel?.hold(name(kind, $0)) }.first
    }

    /// The number of programs that hold a mark.
    package func count(_ kind: Kind) -> Int { (0...15).count { kernel?.isHeld(name(kind, $0)) == true } }

    /// Whether no program holds the mark of an advertising instance: a killed one has left it, or it is other software's.
    package func isLeft(_ instance: UInt8) -> Bool { kernel?.isHeld(name(.advertising, instance)) != true }
}
