import BluetoothATT
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// The queue of a client's requests for the program's handlers, and the streams of its subscriptions.
///
/// Owned by its link, which is passed to each call.
final class PeerRequests {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("PeerRequests") }

    enum Job: Sendable {
        // With the number of the enhanced bearer to respond on; nil for the fixed channel.
        case read(GATTReadRequest, bearer: UInt64?)
        case write(GATTWriteRequest, bearer: UInt64?)
        case authorization(GATTAuthorizationRequest, bearer: UInt64?)
        case command(AttributeWrite)
        case commandAuthorization(AttributeWrite, bearer: UInt64?)

        /// Whether the peer expects a response.
        var isRequest: Bool {
            switch self {
            case .read, .write, .authorization: true
            case .command, .commandAuthorization: false
            }
        }

        /// The access that requires authorization or a bond.
        var authorization: (handle: AttributeHandle, access: AttributeAccess)? {
            switch self {
            case .authorization(let request, _): (request.handle, request.access)
            case .commandAuthorization(let write, _): (write.handle, .write)
            case .read, .write, .command: nil
            }
        }
    }

    struct Waiting: Sendable {
        var job: Job
        /// The deadline of the response, or, once its handler runs, of a command; nil before.
        var deadline: KernelInstant?
        /// The client when its request arrived, which may be before the link was encrypted.
        var client: AttributeClient
    }

    private enum Work {
        /// The queue is empty.
        case none
        /// A handler is running, with the request or command it serves, if any.
        case underWay(Task<Void, Never>, job: Waiting?)
        /// A handler has exceeded its time and has not returned yet.
        case stuck(Task<Void, Never>)

        var deadline: KernelInstant? { if case .underWay(_, let job) = self { job?.deadline } else { nil } }
        var isStuck: Bool { if case .stuck = self { true } else { false } }
    }

    /// The maximum number of waiting jobs: a request of each bearer, and commands, which a server may drop when
    /// overloaded.
    static let capacity = 256

    private var waiting = RingBuffer<Waiting>()
    /// The deadlines of the waiting requests.
    private var deadlines = RingBuffer<KernelInstant>()
    /// The follow-up of the request or command just authorised: processed before all others.
    private var next: Waiting?
    /// The job being answered, to which a follow-up belongs.
    private var answered: Waiting?
    private var work = Work.none
    private var watchdog: LoopTimer?
    private(set) var missedCommands = 0
    var subscriptions = Broadcaster<PeerSubscription>()

    func add(_ job: Job, _ link: Link) {
        if let answered {
            next = Waiting(job: job, deadline: job.isRequest ? answered.deadline : nil, client: answered.client)
            return
        }
        if !job.isRequest {
            guard waiting.count < Self.capacity else {
                missedCommands += 1
                return
            }
        } else if work.isStuck {
            // The handler that exceeded its time is still running.
            return link.giveUp(job)
        }
        let deadline = job.isRequest ? link.loop.now.advanced(by: HandlerWork.limit) : nil
        waiting.append(Waiting(job: job, deadline: deadline, client: link.client))
        if let deadline { deadlines.append(deadline) }
        if case .none = work { begin(link) } else { setWatchdog(link) }
    }

    /// Cancels the handler and drops all jobs, as the link has ended.
    func end(_ reason: BluetoothError) {
        watchdog?.cancel()
        switch work {
        case .none: break
        case .underWay(let task, _), .stuck(let task): task.cancel()
        }
        while let left = popFirst() { if !left.job.isRequest { missedCommands += 1 } }
        subscriptions.finish(reason)
    }

    private func popFirst() -> Waiting? {
        if let next = next.take() { return next }
        guard let first = waiting.popFirst() else { return nil }
        if first.deadline != nil { _ = deadlines.popFirst() }
        return first
    }

    // MARK: Processing

    private func begin(_ link: Link) {
        let (bound, requests) = (LoopBound(WeakReference(to: link), on: link.loop), LoopBound(self, on: link.loop))
        let task = Task(executorPreference: link.loop) {
            while var work = bound.value.object.flatMap({ requests.value.nextWork($0) }) {
                if work.awaitsBond {
                    work.waiting.client.isBonded = await bound.value.object?.confirmBond() ?? false
                }
                let result = await work.result()
                guard let link = bound.value.object, requests.value.complete(work, result, link) else { return }
            }
        }
        work = .underWay(task, job: nil)
    }

    /// The next call of a handler; nil ends the task.
    private func nextWork(_ link: Link) -> HandlerWork? {
        while link.endReason == nil, case .underWay(let task, _) = work, var waiting = popFirst() {
            if let deadline = waiting.deadline {
                // The jobs before it may have used up its time.
                guard link.loop.now < deadline else {
                    link.giveUp(waiting.job)
                    continue
                }
            } else {
                waiting.deadline = link.loop.now.advanced(by: HandlerWork.limit)
            }
            work = .underWay(task, job: waiting)
            setWatchdog(link)
            return HandlerWork(
                waiting: waiting, connection: link.connection.map { WeakReference(to: $0) },
                server: link.localServer, log: link.log)
        }
        watchdog?.cancel()
        work = .none
        return nil
    }

    /// Sends the response to the peer; returns whether the task continues with the next job.
    private func complete(_ done: HandlerWork, _ result: Result<HandlerWork.Outcome, ATTErrorCode>, _ link: Link)
        -> Bool
    {
        guard case .underWay(let task, _) = work else {
            // The request was refused at its deadline and the task cancelled, so a new task continues.
            work = .none
            if link.endReason == nil, next != nil || !waiting.isEmpty { begin(link) }
            return false
        }
        work = .underWay(task, job: nil)
        answered = done.waiting
        link.answer(done.waiting.job, result)
        answered = nil
        return true
    }

    // MARK: Time limits

    /// Sets the timer for the next deadline: that of the handler, or of a request that waits behind that of a command.
    private func setWatchdog(_ link: Link) {
        guard let running = work.deadline ?? deadlines.first else {
            watchdog?.cancel()
            return
        }
        let deadline = min(running, deadlines.first ?? running)
        let timer =
            watchdog
            ?? link.loop.makeLocalTimer { [weak self, weak link] in if let self, let link { deadlinePassed(link) } }
        watchdog = timer
        timer.set(after: link.loop.now.duration(to: deadline))
    }

    /// Cancels a handler that has exceeded its time, and refuses its request and all that wait behind it, before the peer
    /// closes the link.
    private func deadlinePassed(_ link: Link) {
        guard link.endReason == nil else { return }
        var overdue: Waiting?
        if case .underWay(let task, let job) = work {
            link.log.warning("a handler did not answer within \(HandlerWork.limit)", metadata: ["peer": "\(link.peer)"])
            work = .stuck(task)
            task.cancel()
            overdue = job
        }
        // A command's handler may return, now that it is cancelled, before the time of a request behind it is over.
        if overdue?.job.isRequest == false, deadlines.first.map({ link.loop.now < $0 }) ?? true {
            return setWatchdog(link)
        }
        for job in removeRequests(after: overdue) { link.giveUp(job) }
    }

    /// Removes all requests; commands remain.
    private func removeRequests(after first: Waiting?) -> [Job] {
        var requests = [first].compactMap { $0?.job }
        waiting.removeAll { waiting in
            if waiting.deadline != nil { requests.append(waiting.job) }
            return waiting.deadline != nil
        }
        deadlines = RingBuffer()
        return requests
    }
}

/// A call of a program's handlers.
struct HandlerWork: Sendable {
    /// The outcome of a call.
    enum Outcome: Sendable {
        case value([UInt8])
        case accepted
        /// Authorised; with a range, for those attributes and the lifetime of the link.
        case authorized(AttributeHandleRange?)
    }

    /// The time limit of a request, five seconds less than the peer's.
    static let limit = Duration.seconds(25)

    var waiting: PeerRequests.Waiting
    var connection: WeakReference<Connection>?
    var server: LocalServer
    var log: Logger

    private var client: AttributeClient { waiting.client }
    private var peer: BluetoothAddress { client.address }

    /// Whether the access requires a bond that the client does not have yet.
    var awaitsBond: Bool {
        guard !client.isBonded, let (handle, access) = waiting.job.authorization else { return false }
        return permissions(of: handle).needsBond(to: access)
    }

    func result() async -> Result<Outcome, ATTErrorCode> {
        do {
            switch waiting.job {
            case .read(let request, _):
                let handlers = server.handlers(of: request.handle)
                let access = access(request.handle, 0)
                let value: [UInt8]
                if let definitions = handlers?.definitions {
                    value = try await definitions.read(request.handle, by: client)
                } else if case .inTurn(let receiver)? = handlers?.events {
                    value = try await ask(receiver) { .read(access, $0) }
                } else if let read = handlers?.read {
                    value = try await read(access)
                } else {
                    return .failure(.readNotPermitted)
                }
                guard value.count <= AttributeProtocol.maximumAttributeValueLength else {
                    log.warning(
                        "a handler read \(value.count) bytes of \(request.handle), more than the maximum of a value",
                        metadata: ["peer": "\(peer)"])
                    return .failure(.unlikelyError)
                }
                return .success(.value(value))
            case .write(let request, _): try await perform(request.writes, isCommand: false)
            case .command(let command): try await perform([command], isCommand: true)
            case .authorization(let request, _): return await authorization(of: request.handle, request.access)
            case .commandAuthorization(let write, _): return await authorization(of: write.handle, .write)
            }
            return .success(.accepted)
        } catch let code as ATTErrorCode {
            return .failure(code)
        } catch {
            logFailure(error)
            return .failure(.unlikelyError)
        }
    }

    private func authorization(
        of handle: AttributeHandle, _ access: AttributeAccess
    ) async -> Result<Outcome, ATTErrorCode> {
        guard !awaitsBond else { return .failure(.insufficientAuthorization) }
        guard permissions(of: handle).needsAuthorization(to: access) else { return .success(.authorized(nil)) }
        guard let (range, handlers) = server.publication(of: handle), let authorize = handlers.authorize else {
            return .failure(.insufficientAuthorization)
        }
        let request = AuthorizationRequest(
            peer: peer, handle: handle, uuid: type(of: handle), access: access, security: client.security,
            isBonded: client.isBonded)
        do {
            switch try await authorize(request) {
            case .refused: return .failure(.insufficientAuthorization)
            case .once: return .success(.authorized(nil))
            case .whileConnected: return .success(.authorized(range))
            }
        } catch {
            logFailure(error)
            return .failure(.insufficientAuthorization)
        }
    }

    private func perform(_ writes: [AttributeWrite], isCommand: Bool) async throws {
        guard let first = writes.first else { return }
        let publication = server.publication(of: first.handle)
        if let publication, let definitions = publication.handlers.definitions {
            let own = Array(writes.prefix { publication.range.contains($0.handle) })
            try await definitions.write(own, isCommand: isCommand, by: client)
            return try await perform(Array(writes.dropFirst(own.count)), isCommand: isCommand)
        }
        if case .inTurn(let receiver)? = publication?.handlers.events {
            _ = try await ask(receiver) { .write(writes, $0) }
            return
        }
        guard let body = publication?.handlers.write else { throw ATTErrorCode.writeNotPermitted }
        try await body(access(first.handle, first.offset), first.value)
        try await perform(Array(writes.dropFirst()), isCommand: isCommand)
    }

    /// Delivers an event with its question, and waits for the answer.
    private func ask(
        _ receiver: PeerEventDelivery.Receiver, _ event: (PeerQuestion) -> PeerEvent
    ) async throws(ATTErrorCode) -> [UInt8] {
        let answer = Promise<[UInt8], ATTErrorCode>()
        // The connection is not retained meanwhile.
        if let connection = connection?.object {
            receiver(event(PeerQuestion { answer.resolve($0) }), connection)
        } else {
            answer.fail(.unlikelyError)
        }
        return try await answer.value(ifCancelled: .unlikelyError)
    }

    private func access(_ handle: AttributeHandle, _ offset: Int) -> AttributeRequest {
        AttributeRequest(peer: peer, handle: handle, type: type(of: handle), offset: offset)
    }

    private func type(of handle: AttributeHandle) -> BluetoothUUID {
        server.withDatabase { $0.attribute(at: handle)?.type } ?? BluetoothUUID(0)
    }

    private func permissions(of handle: AttributeHandle) -> AttributePermissions {
        server.withDatabase { $0.attribute(at: handle)?.permissions } ?? []
    }

    private func logFailure(_ error: any Error) {
        // A handler that was cancelled, as its answer is no longer needed, has not failed.
        log.log(
            level: Task.isCancelled ? .debug : .warning, "a handler failed: \(error)", metadata: ["peer": "\(peer)"])
    }
}

/// A client's request for access that requires authorisation, over a link with the security that the access requires;
/// see ``Adapter/publish(_:authorizing:)``.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The address of the client, which any device can use; ``isBonded`` confirms it.
    public let peer: BluetoothAddress
    /// The handle of the characteristic's value or of the descriptor.
    public let handle: AttributeHandle
    /// The type of the characteristic or descriptor.
    public let uuid: BluetoothUUID
    /// The requested access: reading or writing.
    public let access: AttributeAccess
    /// The security of the link when the request arrived.
    public let security: LinkSecurity
    /// Whether the client was the bonded device when the request arrived: the link was encrypted, and there was a bond.
    public let isBonded: Bool
}

/// The program's answer to an authorisation request.
public enum ClientAuthorization: Sendable, Hashable {
    /// Refused with Insufficient Authorization; the next request asks again.
    case refused
    /// Permitted this time; a write in several parts counts as one.
    case once
    /// Permitted for the lifetime of the link, for everything that requires authorisation among the attributes
    /// published together with this one, including notifications and indications, which never cause a request of their
    /// own.
    case whileConnected
}
