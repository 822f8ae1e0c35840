import Foundation

/// The events of a channel's stream, delivered on the run loops in which it is scheduled.
///
/// Foundation's streams on Linux support only files and memory, and call no delegates; these call theirs. An event is
/// delivered once, however often it has occurred since, and only if it still applies: a delegate that is notified of
/// bytes can read without waiting. Unchecked, since run loops are not Sendable; all state is locked.
final class StreamEvents: @unchecked Sendable {
    private struct State {
        weak var stream: Stream?
        weak var delegate: (any StreamDelegate)?
        var places: [(loop: RunLoop, mode: RunLoop.Mode)] = []
        /// The events to deliver, in order.
        var waiting: [Stream.Event] = []
        /// Whether a run loop is scheduled to deliver them.
        var isScheduled = false
        var isTrue: @Sendable (Stream.Event) -> Bool = { _ in true }
    }

    private let state = Locked(State())

    /// - Parameter isTrue: returns whether an event still applies.
    func attach(_ stream: Stream, _ isTrue: @escaping @Sendable (Stream.Event) -> Bool) {
        state { ($0.stream, $0.isTrue) = (stream, isTrue) }
    }

    var delegate: (any StreamDelegate)? {
        get { state { $0.delegate } }
        set { state { $0.delegate = newValue } }
    }

    func schedule(in loop: RunLoop, _ mode: RunLoop.Mode) {
        state { $0.places.append((loop, mode)) }
        wake()
    }

    func remove(from loop: RunLoop, _ mode: RunLoop.Mode) {
        state { state in
            state.places.removeAll { $0.loop === loop && $0.mode == mode }
            // Pending events are delivered where the stream is scheduled next.
            state.isScheduled = false
        }
        wake()
    }

    /// Delivers an event on the run loop, as soon as there is one.
    func post(_ event: Stream.Event) {
        state { state in
            if !state.waiting.contains(event) { state.waiting.append(event) }
        }
        wake()
    }

    private func wake() {
        let place = state { state -> (loop: RunLoop, mode: RunLoop.Mode)? in
            guard !state.isScheduled, !state.waiting.isEmpty, let place = state.places.first else { return nil }
            state.isScheduled = true
            return place
        }
        guard let place else { return }
        // A timer wakes a waiting run loop, which a block alone does not.
        let timer = Timer(timeInterval: 0, repeats: false) { [weak self] _ in self?.deliverNext() }
        place.loop.add(timer, forMode: place.mode)
    }

    private func deliverNext() {
        let (event, stream, delegate, isTrue) = state { state in
            state.isScheduled = false
            return (
                state.places.isEmpty || state.waiting.isEmpty ? nil : state.waiting.removeFirst(), state.stream,
                state.delegate, state.isTrue
            )
        }
        if let event, let stream, isTrue(event) { delegate?.stream(stream, handle: event) }
        wake()
    }
}
