import BluetoothPrimitives
import BluetoothGATT

/// A request to the peer whose fate is told by ``LinkEvent``s.
package enum LinkRequest: Sendable {
    /// Reads a whole value.
    case read(any RemoteAttribute)
    /// Writes a value and waits until the peer has taken it.
    case write([UInt8], to: any RemoteAttribute)

    /// Names a request; chosen by who makes it.
    package typealias ID = UInt64
}

/// What happens on a link.
package enum LinkEvent: Sendable {
    /// The peer has notified or indicated a value, whoever has subscribed to it.
    case value([UInt8], of: AttributeHandle)
    /// The peer's attributes in a range are not what they were, as it has told in order with values.
    case servicesChanged(AttributeHandleRange)
    /// A request is about to be sent for the first time: a command that is given now follows it.
    case began(LinkRequest.ID)
    /// The peer has answered a request: with the value that was read, with nothing to one that writes.
    case answered(LinkRequest.ID, [UInt8])
    /// A request has failed, or nobody waits for it any more.
    case failed(LinkRequest.ID, BluetoothError)
}

/// Who is told what happens on a link, on the loop and in the order in which it happens.
///
/// Nothing is queued on the way: whoever cannot keep pace decides itself what that means.
package protocol LinkEventReceiver: AnyObject {
    /// Takes an event. It may not call the connection.
    func receive(_ event: LinkEvent)
}

/// A link's way to whoever is told what happens on it.
final class LinkEvents {
    weak var receiver: (any LinkEventReceiver)?

    func send(_ event: LinkEvent) { receiver?.receive(event) }
}

/// Tells what becomes of one request.
final class RequestReport {
    private let id: LinkRequest.ID
    private let events: LinkEvents
    private var hasBegun = false

    init(_ id: LinkRequest.ID, to events: LinkEvents) {
        (self.id, self.events) = (id, events)
    }

    /// A request is about to be sent, for the first time or as one of several.
    func begin() {
        if hasBegun { return }
        hasBegun = true
        events.send(.began(id))
    }

    func answer(_ value: [UInt8]) { events.send(.answered(id, value)) }

    func fail(_ error: BluetoothError) { events.send(.failed(id, error)) }
}

extension Link {
    /// Has everything that happens told to `receiver`, which is not kept, and to nobody else.
    func sendEvents(to receiver: (any LinkEventReceiver)?) {
        events.receiver = receiver
        guard let bearer = try? bearer(for: .init("tell what happens", peer: peer)) else { return }
        bearer.peerServer.subscribers.events = receiver == nil ? nil : events
    }

    /// Makes a request; returns when that has been told to have ended.
    nonisolated(nonsending) func perform(_ request: LinkRequest, as id: LinkRequest.ID) async {
        let report = RequestReport(id, to: events)
        do throws(BluetoothError) {
            switch request {
            case .read(let attribute): _ = try await read(attribute, report)
            case .write(let value, let attribute): try await write(value, to: attribute, report)
            }
        } catch {
            report.fail(error)
        }
    }
}

extension Connection {
    /// Has everything that happens told to `receiver`, which is not kept, and to nobody else; for callers on the loop.
    package func sendEvents(to receiver: (any LinkEventReceiver)?) { core.value.sendEvents(to: receiver) }

    /// Makes a request; returns when whoever is told of the link's events knows its outcome.
    package nonisolated(nonsending) func perform(_ request: LinkRequest, as id: LinkRequest.ID) async {
        await core { await $0.perform(request, as: id) }
    }
}
