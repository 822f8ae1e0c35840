import BluetoothATT
import BluetoothGATT
import BluetoothLoop
import BluetoothPrimitives
import BluetoothSockets
import Logging

/// The requests of a peer's client that wait for the program, and the streams of its subscriptions.
///
/// A receiver of events has each request at once; handlers are called one at a time. Owned by its link, which is passed to
/// each call.
// Holds more than ten variables: the queue of the handlers and the questions to receivers share deadlines and a timer.
final class PeerRequests {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("PeerRequests") }

    private enum Work {
        /// The queue is empty.
        case none
        /// A handler is running, with the request or command it serves, if any. There is no task before it suspends first.
        case underWay(Task<Void, Never>?, PendingWork?)
        /// A handler has exceeded its time and has not returned yet.
        case stuck(Task<Void, Never>)

        var deadline: KernelInstant? { if case .underWay(_, let work) = self { work?.deadline } else { nil } }
        var isStuck: Bool { if case .stuck = self { true } else { false } }
    }

    /// A request that a receiver of events has not answered yet.
    private struct Asked {
        let number: UInt64
        let event: GATTServerEvent
        let bearer: UInt64?
        /// Nil once the program has released it, which answers it.
        weak var question: PeerQuestion?
        let deadline: KernelInstant
    }

    /// The maximum number of waiting requests and commands: a request of each bearer, and commands, which a server may
    /// drop when overloaded.
    static let capacity = 256

    private var waiting = RingBuffer<PendingWork>()
    /// The deadlines of the waiting requests.
    private var deadlines = RingBuffer<KernelInstant>()
    /// The follow-up of the request or command just authorised: processed before all others.
    private var next: PendingWork?
    /// The work being answered, to which a follow-up belongs.
    private var answered: PendingWork?
    private var work = Work.none
    private var asked: [Asked] = []
    /// The deadline of the request of a receiver that is being answered, which is also that of its next value.
    private var answeredDeadline: KernelInstant?
    private var lastQuestion: UInt64 = 0
    private var watchdog: LoopTimer?
    private(set) var missedCommands = 0
    var subscriptions = Broadcaster<PeerSubscription>()

    /// Adds an event that asks the program.
    /// - Parameter bearer: the number of the enhanced bearer to respond on; nil for the fixed channel.
    func add(_ event: GATTServerEvent, from bearer: UInt64?, _ link: Link) {
        if !event.asksForAuthorization, let handle = event.access?.handle,
            let receiver = link.localServer.publication(of: handle)?.events
        {
            return deliver(event, from: bearer, to: receiver, link)
        }
        if let answered {
            next = PendingWork(
                event: event, bearer: bearer, client: answered.client,
                deadline: event.isRequest ? answered.deadline : nil)
            return
        }
        if !event.isRequest {
            guard waiting.count < Self.capacity else {
                missedCommands += 1
                return
            }
        } else if work.isStuck {
            // The handler that exceeded its time is still running.
            return link.giveUp(event, from: bearer)
        }
        let deadline = event.isRequest ? link.loop.now.advanced(by: PendingWork.limit) : nil
        let pending = PendingWork(event: event, bearer: bearer, client: link.client, deadline: deadline)
        if case .none = work {
            next = pending
            return begin(link)
        }
        waiting.append(pending)
        if let deadline { deadlines.append(deadline) }
        setWatchdog(link)
    }

    /// Cancels the handler and drops all work, as the link has ended.
    func end(_ reason: BluetoothError) {
        watchdog?.cancel()
        switch work {
        case .none: break
        case .underWay(let task, _): task?.cancel()
        case .stuck(let task): task.cancel()
        }
        while let request = asked.popLast() { request.question?.close() }
        while let left = popFirst() { if !left.event.isRequest { missedCommands += 1 } }
        subscriptions.finish(reason)
    }

    private func popFirst() -> PendingWork? {
        if let next = next.take() { return next }
        guard let first = waiting.popFirst() else { return nil }
        if first.deadline != nil { _ = deadlines.popFirst() }
        return first
    }

    // MARK: Receivers of events

    private func deliver(
        _ event: GATTServerEvent, from bearer: UInt64?, to receiver: PeerEventReceiver, _ link: Link
    ) {
        guard let connection = link.connection else { return link.giveUp(event, from: bearer) }
        switch event {
        case .readRequested(let handle, _):
            receiver(.read(handle, ask(event, from: bearer, link)), connection)
        case .writeRequested(let writes, _): receiver(.write(writes, ask(event, from: bearer, link)), connection)
        case .writeCommandReceived(let write): receiver(.write([write], nil), connection)
        default: break
        }
        if !asked.isEmpty { setWatchdog(link) }
    }

    private func ask(_ event: GATTServerEvent, from bearer: UInt64?, _ link: Link) -> PeerQuestion {
        lastQuestion += 1
        let question = PeerQuestion(
            for: Asker(
                link: LoopBound(WeakReference(to: link), on: link.loop), loop: link.loop, number: lastQuestion))
        asked.append(
            Asked(
                number: lastQuestion, event: event, bearer: bearer, question: question,
                deadline: answeredDeadline ?? answered?.deadline ?? link.loop.now.advanced(by: PendingWork.limit)))
        return question
    }

    /// The link that has asked a question with a number.
    private struct Asker: AnswerReceiver {
        let link: LoopBound<WeakReference<Link>>
        let loop: EventLoop
        let number: UInt64

        func resolve(_ answer: PeerQuestion.Answer) -> Bool {
            if loop.isCurrent { pass(answer) } else { loop.execute { pass(answer) } }
            return true
        }

        private func pass(_ answer: PeerQuestion.Answer) {
            if let link = link.value.object { link.peerRequests.answer(number, answer, link) }
        }
    }

    private func answer(_ number: UInt64, _ result: PeerQuestion.Answer, _ link: Link) {
        guard let index = asked.firstIndex(where: { $0.number == number }) else { return }
        let request = asked.remove(at: index)
        answeredDeadline = request.deadline
        link.answer(request.event, from: request.bearer, result)
        answeredDeadline = nil
    }

    // MARK: Handlers

    private func begin(_ link: Link) {
        let bound = LoopBound(WeakReference(to: link), on: link.loop)
        let (server, log) = (link.localServer, link.log)
        work = .underWay(nil, nil)
        // Runs here until a handler suspends, which most never do: their answers cost no turn of the loop.
        let task = Task.immediate(executorPreference: link.loop) {
            while var work = bound.value.object.flatMap({ $0.peerRequests.nextWork($0) }) {
                if work.awaitsBond(in: server) {
                    work.client.isBonded = await bound.value.object?.confirmBond() ?? false
                }
                let result = await work.perform(in: server, log)
                guard let link = bound.value.object, link.peerRequests.complete(work, result, link) else { return }
            }
        }
        guard case .underWay(nil, let current) = work else { return }
        work = .underWay(task, current)
        // A handler may have ended the link before there was a task to cancel.
        if link.endReason == nil { setWatchdog(link) } else { task.cancel() }
    }

    /// The next call of a handler; nil ends the task.
    private func nextWork(_ link: Link) -> PendingWork? {
        while link.endReason == nil, case .underWay(let task, _) = work, var next = popFirst() {
            if let deadline = next.deadline {
                // The work before it may have used up its time.
                guard link.loop.now < deadline else {
                    link.giveUp(next.event, from: next.bearer)
                    continue
                }
            } else {
                next.deadline = link.loop.now.advanced(by: PendingWork.limit)
            }
            work = .underWay(task, next)
            if task != nil { setWatchdog(link) }
            return next
        }
        work = .none
        setWatchdog(link)
        return nil
    }

    /// Sends the response to the peer; returns whether the task continues with the next work.
    private func complete(_ done: PendingWork, _ result: PeerQuestion.Answer, _ link: Link) -> Bool {
        guard case .underWay(let task, _) = work else {
            // The request was refused at its deadline and the task cancelled, so a new task continues.
            work = .none
            if link.endReason == nil, next != nil || !waiting.isEmpty { begin(link) }
            return false
        }
        work = .underWay(task, nil)
        answered = done
        link.answer(done.event, from: done.bearer, result, authorizing: done.authorized)
        answered = nil
        return true
    }

    // MARK: Time limits

    /// Sets the timer for the next deadline: that of the handler, of a request that waits behind that of a command, or of
    /// one that a receiver has not answered.
    private func setWatchdog(_ link: Link) {
        let first = asked.isEmpty ? nil : asked.lazy.map(\.deadline).min()
        guard let deadline = earlier(handlerDeadline, first) else {
            watchdog?.cancel()
            return
        }
        let timer = watchdog ?? link.loop.makeTimer(of: link) { $0.peerRequests.deadlinePassed($0) }
        watchdog = timer
        timer.set(after: link.loop.now.duration(to: deadline))
    }

    private var handlerDeadline: KernelInstant? { earlier(work.deadline, deadlines.first) }

    private func deadlinePassed(_ link: Link) {
        guard link.endReason == nil else { return }
        let now = link.loop.now
        while let index = asked.firstIndex(where: { $0.deadline <= now }) {
            let request = asked.remove(at: index)
            request.question?.close()
            link.log.warning(
                "a request was not answered within \(PendingWork.limit)", metadata: ["peer": "\(link.peer)"])
            link.giveUp(request.event, from: request.bearer)
        }
        if let handlerDeadline, handlerDeadline <= now { handlerIsLate(link) }
        setWatchdog(link)
    }

    /// Cancels a handler that has exceeded its time, and refuses its request and all that wait behind it, before the peer
    /// closes the link.
    private func handlerIsLate(_ link: Link) {
        var overdue: PendingWork?
        if case .underWay(let task?, let current) = work {
            link.log.warning(
                "a handler did not answer within \(PendingWork.limit)", metadata: ["peer": "\(link.peer)"])
            work = .stuck(task)
            task.cancel()
            overdue = current
        }
        // A command's handler may return, now that it is cancelled, before the time of a request behind it is over.
        if overdue?.event.isRequest == false, deadlines.first.map({ link.loop.now < $0 }) ?? true { return }
        for work in removeRequests(after: overdue) { link.giveUp(work.event, from: work.bearer) }
    }

    /// Removes all requests; commands remain.
    private func removeRequests(after first: PendingWork?) -> [PendingWork] {
        var requests = [first].compactMap { $0 }
        waiting.removeAll { work in
            if work.deadline != nil { requests.append(work) }
            return work.deadline != nil
        }
        deadlines = RingBuffer()
        return requests
    }
}

private func earlier(_ first: KernelInstant?, _ second: KernelInstant?) -> KernelInstant? {
    guard let first, let second else { return first ?? second }
    return min(first, second)
}

/// A client's request or command that waits for the program's handlers.
struct PendingWork: Sendable {
    /// The time limit of a request, five seconds less than the peer's.
    static let limit = Duration.seconds(25)

    let event: GATTServerEvent
    /// The number of the enhanced bearer to respond on; nil for the fixed channel.
    let bearer: UInt64?
    /// The client when its request arrived, which may be before the link was encrypted.
    var client: AttributeClient
    /// The deadline of the response, or, once its handler runs, of a command; nil before.
    var deadline: KernelInstant?
    /// The attributes for which the program has authorised the client, for the lifetime of the link.
    private(set) var authorized: AttributeHandleRange?

    /// Whether the access requires a bond that the client does not have yet.
    func awaitsBond(in server: LocalServer) -> Bool {
        guard event.asksForAuthorization, !client.isBonded, let (handle, access) = event.access else { return false }
        return server.withDatabase { $0.attribute(at: handle)?.permissions.needsBond(to: access) } ?? false
    }

    /// Calls the program's handlers; returns the value that was read, nothing for a write or an authorisation, or the
    /// error.
    nonisolated(nonsending) mutating func perform(
        in server: LocalServer, _ log: Logger
    ) async -> PeerQuestion.Answer {
        do {
            switch event {
            case .readRequested(let handle, _):
                guard let publication = server.publication(of: handle) else { return .failure(.readNotPermitted) }
                let value = try await publication.read(handle, by: client, in: server)
                if value.count > AttributeProtocol.maximumAttributeValueLength {
                    log.warning(
                        "a handler read \(value.count) bytes of \(handle), more than the maximum of a value",
                        metadata: ["peer": "\(client.address)"])
                }
                return .success(value)
            case .writeRequested(let writes, _): try await perform(writes, isCommand: false, in: server)
            case .writeCommandReceived(let command): try await perform([command], isCommand: true, in: server)
            default: try await authorize(in: server)
            }
            return .success([])
        } catch let code as ATTErrorCode {
            return .failure(code)
        } catch {
            // A handler that was cancelled, as its answer is no longer needed, has not failed.
            log.log(
                level: Task.isCancelled ? .debug : .warning, "a handler failed: \(error)",
                metadata: ["peer": "\(client.address)"])
            return .failure(.unlikelyError)
        }
    }

    private nonisolated(nonsending) mutating func authorize(in server: LocalServer) async throws {
        guard let (handle, access) = event.access, !awaitsBond(in: server),
            let attribute = server.withDatabase({ $0.attribute(at: handle) })
        else { throw ATTErrorCode.insufficientAuthorization }
        guard attribute.permissions.needsAuthorization(to: access) else { return }
        guard let publication = server.publication(of: handle), let authorize = publication.authorize else {
            throw ATTErrorCode.insufficientAuthorization
        }
        let request = AuthorizationRequest(
            peer: client.address, handle: handle, uuid: attribute.type, access: access, security: client.security,
            isBonded: client.isBonded)
        switch try await authorize(request) {
        case .refused: throw ATTErrorCode.insufficientAuthorization
        case .once: break
        case .whileConnected: authorized = publication.handles
        }
    }

    private nonisolated(nonsending) func perform(
        _ writes: [AttributeWrite], isCommand: Bool, in server: LocalServer
    ) async throws {
        var rest = writes[...]
        while let first = rest.first {
            guard let publication = server.publication(of: first.handle) else { throw ATTErrorCode.writeNotPermitted }
            let own = rest.prefix { publication.handles.contains($0.handle) }
            try await publication.write(own, isCommand: isCommand, by: client, in: server)
            rest = rest.dropFirst(own.count)
        }
    }
}
