/// Every target of a state machine: the input is a sequence of its inputs, and its rules hold after each.
let stateMachines = [bearerCore, gattServer, gattProcedures, managementClient] + scans + machines + queues

extension FuzzTarget {
    /// A target that takes its steps from the input until it ends.
    init(_ name: String, _ run: @escaping @Sendable (inout ByteSource) -> Void) {
        self.init(name: name) { bytes in
            var source = ByteSource(bytes)
            run(&source)
        }
    }
}

extension ByteSource {
    /// One of a few numbers, from zero.
    mutating func number(below count: Int) -> Int { Int(byte()) % count }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// A time of zero to some seconds, mostly short.
    mutating func duration() -> Duration {
        let number = Int(byte())
        return .milliseconds(number & 7 == 0 ? number << 7 : number)
    }
}

extension [UInt8] {
    /// Whether `length` successive bytes of `other` are in this.
    func shares(_ length: Int, with other: [UInt8]) -> Bool {
        guard count >= length else { return false }
        return (0...count - length).contains { start in
            (0...other.count - length).contains {
                self[start..<start + length].elementsEqual(other[$0..<$0 + length])
            }
        }
    }
}
