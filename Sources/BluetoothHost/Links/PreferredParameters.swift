import BluetoothHCI
import BluetoothLoop

// The value of the characteristic Peripheral Preferred Connection Parameters (Core Vol 3 Part C §12.3): four numbers of
// two bytes, of which the intervals and the supervision timeout may be 0xFFFF for none.

extension LEConnectionParameters {
    /// The value that states these parameters.
    package var preferredValue: [UInt8] {
        [intervalMinimum, intervalMaximum, latency, supervisionTimeout].flatMap {
            [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
        }
    }
}

extension ConnectionParameterRequest {
    /// The request that satisfies a value; nil if it states no interval.
    ///
    /// A single limit of the interval is the other one as well, and a missing supervision timeout is 5 s, or longer
    /// where interval and latency need it.
    /// - Throws: `.protocolViolation` for a value outside the specification's ranges.
    package init?(preferred value: [UInt8], _ operation: BluetoothError.Operation) throws(BluetoothError) {
        let numbers = stride(from: 0, to: value.count - 1, by: 2).map { Int(value[$0]) | Int(value[$0 + 1]) << 8 }
        guard value.count == 8 else {
            throw Self.invalid("has \(value.count) bytes instead of 8", operation)
        }
        let limits = numbers[0...1].filter { $0 != 0xFFFF }
        guard let shortest = limits.first, let longest = limits.last else { return nil }
        guard shortest <= longest else { throw Self.invalid("has a range of intervals that is reversed", operation) }
        let latency = numbers[2]
        // The supervision timeout in units of 10 ms exceeds a quarter of the intervals in units of 1.25 ms.
        let timeout = numbers[3] == 0xFFFF ? max(500, (latency + 1) * longest / 4 + 1) : numbers[3]
        self.init(
            interval: .microseconds(1250) * shortest...(.microseconds(1250) * longest), latency: latency,
            supervisionTimeout: .milliseconds(10) * timeout)
        do throws(BluetoothError) {
            _ = try parameters(operation)
        } catch {
            throw Self.invalid("is not valid: \(error.message)", operation)
        }
    }

    private static func invalid(_ reason: String, _ operation: BluetoothError.Operation) -> BluetoothError {
        BluetoothError(
            .protocolViolation, operation, "The device's Peripheral Preferred Connection Parameters \(reason).")
    }
}
