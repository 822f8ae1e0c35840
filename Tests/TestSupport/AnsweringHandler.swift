import BluetoothSimulation
import Synchronization

/// A peripheral's attribute server with fixed responses, correct or not, and Attribute Not Found for any other request.
package final class AnsweringHandler: SimulatedLinkHandler {
    private let answers: [[UInt8]: [UInt8]]
    private let state = Mutex<(requests: [[UInt8]], link: SimulatedLink?)>(([], nil))

    /// Creates a server with these responses by their requests, both in hexadecimal.
    package init(_ answers: [String: String]) {
        self.answers = Dictionary(answers.map { (hex($0.key), hex($0.value)) }, uniquingKeysWith: { first, _ in first })
    }

    /// The number of requests.
    package var count: Int { requests.count }

    /// The requests and commands received.
    package var requests: [[UInt8]] { state.withLock { $0.requests } }

    /// Sends a packet, in hexadecimal, over the link of the last request.
    package func send(_ packet: String) {
        let link = state.withLock { $0.link }
        link?.send(hex(packet))
    }

    /// Answers a request.
    package func received(_ packet: RawSpan, on channel: L2CAPChannel, of link: SimulatedLink) {
        let request = [UInt8](packet)
        guard channel == .attribute, let opcode = request.first, opcode != 0x1E else { return }
        state.withLock { state in
            state.requests.append(request)
            state.link = link
        }
        if opcode == 0x52 { return }
        link.send(answers[request] ?? [0x01, opcode, 0, 0, opcode == 0x02 ? 0x06 : 0x0A])
    }
}

/// A heart rate sensor with one error in its database: the value of its measurement is at 0x0000.
package let malformedSensor = [
    "10 0100 FFFF 0028": "11 06 0100 0300 0018 0400 0800 0D18",
    "08 0100 0800 0328": "09 07 0200 02 0300 002A 0500 10 0000 372A",
    "08 0600 0800 0328": "09 07 0700 02 0800 382A",
    "08 0400 0800 0328": "09 07 0500 10 0000 372A 0700 02 0800 382A",
    "0A 0800": "0B 02",
]

/// A lamp whose characteristic notifies, with a User Description as its only descriptor.
package let describedLamp = [
    "10 0100 FFFF 0028": "11 06 0100 0400 F0FF",
    "06 0100 FFFF 0028 F0FF": "07 0100 0400",
    "08 0100 0400 0328": "09 07 0200 12 0300 F1FF",
    "04 0300 0300": "05 01 0300 F1FF",
    "04 0400 0400": "05 01 0400 0129",
    "0A 0300": "0B 05",
]

/// A tag whose characteristic notifies, without a descriptor.
package let bareTag = [
    "10 0100 FFFF 0028": "11 06 0100 0300 F0FF",
    "06 0100 FFFF 0028 F0FF": "07 0100 0300",
    "08 0100 0300 0328": "09 07 0200 12 0300 F1FF",
    "0A 0300": "0B 05",
]
