import BluetoothLoop
import BluetoothHCI

// Link values converted from and to the controller's units.

extension ConnectionParameters {
    package init(_ parameters: LEActiveConnectionParameters) {
        self.init(
            interval: .microseconds(1250) * Int(parameters.interval), latency: Int(parameters.latency),
            supervisionTimeout: .milliseconds(10) * Int(parameters.supervisionTimeout))
    }
}

extension ConnectionParameterRequest {
    /// Checks the values, as every call that requests them does first.
    /// - Throws: `.invalidArgument` for values outside the specification's ranges or that contradict each other.
    public func validate() throws(BluetoothError) {
        _ = try parameters(BluetoothError.Operation("check connection parameters"))
    }

    /// The request in the packets' units; throws `.invalidArgument` for values outside the specification's ranges.
    package func parameters(_ operation: BluetoothError.Operation) throws(BluetoothError) -> LEConnectionParameters {
        let shortest = (interval.lowerBound.clampedNanoseconds &+ 1_249_999) / 1_250_000
        let longest = interval.upperBound.clampedNanoseconds / 1_250_000
        let timeout = supervisionTimeout.clampedNanoseconds / 10_000_000
        guard (6...3200).contains(shortest), (shortest...3200).contains(max(shortest, longest)), longest >= shortest
        else {
            throw .invalidArgument(
                operation,
                "A connection interval is 7.5 ms to 4 s long, in steps of 1.25 ms, not \(intervalText).")
        }
        guard (0...499).contains(latency) else {
            throw .invalidArgument(operation, "The peripheral latency is 0 to 499 connection events, not \(latency).")
        }
        // In units of 1.25 ms.
        let silence = 2 * Int64(latency + 1) * longest
        guard (10...3200).contains(timeout), timeout * 8 > silence else {
            throw .invalidArgument(
                operation,
                "A supervision timeout is 100 ms to 32 s long, in steps of 10 ms, and more than twice the longest interval times (latency + 1), which is \((.microseconds(1250) * Int(silence)).inMilliseconds): not \(supervisionTimeout.inMilliseconds)."
            )
        }
        return LEConnectionParameters(
            intervalMinimum: UInt16(clamping: shortest), intervalMaximum: UInt16(clamping: longest),
            latency: UInt16(clamping: latency), supervisionTimeout: UInt16(clamping: timeout))
    }
}

extension ConnectionParameterRequest {
    /// Whether a link with `parameters` satisfies the request.
    package func includes(_ parameters: ConnectionParameters) -> Bool {
        let unit = Int64(10_000_000)
        return interval.contains(parameters.interval) && latency == parameters.latency
            && supervisionTimeout.clampedNanoseconds / unit == parameters.supervisionTimeout.clampedNanoseconds / unit
    }
}

extension LEConnectionParameters {
    /// Whether a link with `parameters` satisfies this request.
    package func includes(_ parameters: LEActiveConnectionParameters) -> Bool {
        parameters.interval >= intervalMinimum && parameters.interval <= intervalMaximum
            && parameters.latency == latency && parameters.supervisionTimeout == supervisionTimeout
    }
}

extension LinkPHYs {
    package init(_ update: LELinkPHYs) {
        self.init(transmit: update.transmit, receive: update.receive)
    }
}

extension LinkDataLength {
    package init(_ change: LEDataLength) {
        self.init(
            transmitOctets: Int(change.transmitOctets), transmitTime: .microseconds(Int(change.transmitTime)),
            receiveOctets: Int(change.receiveOctets), receiveTime: .microseconds(Int(change.receiveTime)))
    }
}
