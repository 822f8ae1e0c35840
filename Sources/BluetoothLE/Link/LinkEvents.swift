import BluetoothPrimitives
import BluetoothGATT

/// A request to the peer whose outcome is reported by ``LinkEvent``s.
package enum AttributeRequest: Sendable {
    /// Reads a whole value.
    case read(any RemoteAttribute)
    /// Writes a value and waits for the peer's response.
    case write([UInt8], to: any RemoteAttribute)

    /// The number of a request, assigned by its caller.
    package typealias ID = UInt64
}

/// An event on a link.
package enum LinkEvent: Sendable {
    /// The peer has notified or indicated a value, for any subscriber.
    case value([UInt8], of: AttributeHandle)
    /// The peer's attributes in a range have changed; in order with its values.
    case servicesChanged(AttributeHandleRange)
    /// The host has accepted the first packet of a request: a command submitted now follows it.
    case began(AttributeRequest.ID)
    /// The peer has responded to a request: with the value of a read; empty for a write.
    case answered(AttributeRequest.ID, [UInt8])
    /// A request has failed or was cancelled.
    case failed(AttributeRequest.ID, BluetoothError)
}

/// The receiver of a link's events, on the loop and in the order received.
///
/// Events are not queued: a receiver that cannot keep pace applies its own policy.
package protocol LinkEventReceiver: AnyObject {
    /// Handles an event.
    func receive(_ event: LinkEvent)
}

/// The dispatcher of a link's events.
final class LinkEvents {
    weak var receiver: (any LinkEventReceiver)?

    func send(_ event: LinkEvent) { receiver?.receive(event) }
}

/// The reporter of one request's outcome.
final class RequestReport {
    private let id: AttributeRequest.ID
    private let events: LinkEvents
    private var hasBegun = false

    init(_ id: AttributeRequest.ID, to events: LinkEvents) {
        (self.id, self.events) = (id, events)
    }

    /// Reports that a packet of the request was sent; only the first of several counts.
    func begin() {
        if hasBegun { return }
        hasBegun = true
        events.send(.began(id))
    }

    func answer(_ value: [UInt8]) { events.send(.answered(id, value)) }

    func fail(_ error: BluetoothError) { events.send(.failed(id, error)) }
}

extension Link {
    /// Sends all events of the link to `receiver`, which is not retained, in place of any other.
    func sendEvents(to receiver: (any LinkEventReceiver)?) {
        events.receiver = receiver
        guard let bearer = mainBearer else { return }
        bearer.peerServer.subscribers.events = receiver == nil ? nil : events
    }

    /// Performs a request; returns after its outcome has been reported.
    nonisolated(nonsending) func perform(_ request: AttributeRequest, as id: AttributeRequest.ID) async {
        let report = RequestReport(id, to: events)
        do throws(BluetoothError) {
            switch request {
            case .read(let attribute): _ = try await read(attribute, timeout: .seconds(300), report)
            case .write(let value, let attribute): try await write(value, to: attribute, timeout: .seconds(300), report)
            }
        } catch {
            report.fail(error)
        }
    }
}

extension Connection {
    /// Sends all events of the link to `receiver`, which is not retained, in place of any other; for callers on the
    /// loop.
    package func sendEvents(to receiver: (any LinkEventReceiver)?) { core.value.sendEvents(to: receiver) }

    /// Performs a request; returns after its outcome has been reported to the receiver.
    package nonisolated(nonsending) func perform(_ request: AttributeRequest, as id: AttributeRequest.ID) async {
        await core { await $0.perform(request, as: id) }
    }
}
