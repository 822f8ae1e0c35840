import BluetoothATT
import BluetoothSockets
import BluetoothPrimitives
import BluetoothGATT
import Logging

/// What a peer's client asks of the program, in order, and who wants to know of its subscriptions.
///
/// Owned by its link, which it is given with each call.
final class PeerRequests {
    private let mark: ComponentCount.Mark

    init(on loop: EventLoop) { mark = loop.components.mark("PeerRequests") }

    enum Job: Sendable {
        // With the enhanced bearer it came by, to which the answer belongs; nil for the fixed channel.
        case read(GATTReadRequest, bearer: UInt64?)
        case write(GATTWriteRequest, bearer: UInt64?)
        case authorization(GATTAuthorizationRequest, bearer: UInt64?)
        case command(AttributeWrite)
        case commandAuthorization(AttributeWrite, bearer: UInt64?)

        /// Whether the peer waits for an answer.
        var isRequest: Bool {
            switch self {
            case .read, .write, .authorization: true
            case .command, .commandAuthorization: false
            }
        }
    }

    struct Waiting: Sendable {
        var job: Job
        /// When the peer has to have its answer; nil when it waits for none.
        var deadline: KernelInstant?
    }

    private enum Work {
        /// Nothing waits.
        case none
        /// The program is at work on what it was given; the request among it.
        case underWay(Task<Void, Never>, request: Waiting?)
        /// The handler has used up its time, and has still not returned.
        case stuck(Task<Void, Never>)

        var request: Waiting? { if case .underWay(_, let request) = self { request } else { nil } }
        var isStuck: Bool { if case .stuck = self { true } else { false } }
    }

    /// The most that may wait: a request of each bearer, and commands, which a server may pass over when they are too many.
    static let capacity = 256

    private var waiting = RingBuffer<Waiting>()
    /// The deadlines of the requests among them.
    private var deadlines = RingBuffer<KernelInstant>()
    /// What the request just answered needs besides, or what comes of a command just authorised: done before all others.
    private var next: Waiting?
    /// What is being answered, so that what comes of it is known to go on with it.
    private var answered: Waiting?
    private var work = Work.none
    private var watchdog: LoopTimer?
    private(set) var missedCommands = 0
    var subscriptions = Broadcaster<PeerSubscription>()

    func add(_ job: Job, _ link: Link) {
        if let answered {
            next = Waiting(job: job, deadline: job.isRequest ? answered.deadline : nil)
            return
        }
        if !job.isRequest {
            guard waiting.count < Self.capacity else {
                missedCommands += 1
                return
            }
        } else if work.isStuck {
            // Whoever has the handler's attention does not let go of it.
            return link.giveUp(job)
        }
        let deadline = job.isRequest ? link.loop.now.advanced(by: HandlerWork.limit) : nil
        waiting.append(Waiting(job: job, deadline: deadline))
        if let deadline { deadlines.append(deadline) }
        if case .none = work { begin(link) } else { setWatchdog(link) }
    }

    /// Ends what the program is at, since nobody waits for it any more.
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

    // MARK: Working it off

    private func begin(_ link: Link) {
        let (bound, requests) = (LoopBound(WeakReference(to: link), on: link.loop), LoopBound(self, on: link.loop))
        let task = Task(executorPreference: link.loop) {
            while let work = bound.value.object.flatMap({ requests.value.nextWork($0) }) {
                let result = await work.result()
                guard let link = bound.value.object, requests.value.finish(work, result, link) else { return }
            }
        }
        work = .underWay(task, request: nil)
    }

    /// The next thing for the program to do; nil ends the task.
    private func nextWork(_ link: Link) -> HandlerWork? {
        while link.endReason == nil, case .underWay(let task, _) = work, let waiting = popFirst() {
            if let deadline = waiting.deadline {
                // What came before it may have taken its time.
                guard link.loop.now < deadline else {
                    link.giveUp(waiting.job)
                    continue
                }
            }
            work = .underWay(task, request: waiting.deadline == nil ? nil : waiting)
            setWatchdog(link)
            return HandlerWork(
                waiting: waiting, peer: link.peer, connection: link.connection.map { WeakReference(to: $0) },
                server: link.localServer, log: link.log)
        }
        watchdog?.cancel()
        work = .none
        return nil
    }

    /// Hands the peer the answer; says whether the task is of further use.
    private func finish(_ done: HandlerWork, _ result: Result<HandlerWork.Outcome, ATTErrorCode>, _ link: Link) -> Bool
    {
        guard case .underWay(let task, _) = work else {
            // It was refused when the time was up, and its task cancelled, which is of no use for what comes next.
            work = .none
            if link.endReason == nil, next != nil || !waiting.isEmpty { begin(link) }
            return false
        }
        work = .underWay(task, request: nil)
        answered = done.waiting
        link.answer(done.waiting.job, result)
        answered = nil
        return true
    }

    // MARK: Time

    /// Sees to it that the peer has its answers in time, also to what waits behind a command's handler.
    private func setWatchdog(_ link: Link) {
        guard let deadline = work.request?.deadline ?? deadlines.first, !work.isStuck else {
            watchdog?.cancel()
            return
        }
        let timer =
            watchdog ?? link.loop.makeLocalTimer { [weak self, weak link] in if let self, let link { isLate(link) } }
        watchdog = timer
        timer.set(after: link.loop.now.duration(to: deadline))
    }

    /// Refuses a request whose handler has not answered in time, before the peer gives the link up, and those that wait
    /// behind it on other bearers or behind a command.
    private func isLate(_ link: Link) {
        guard link.endReason == nil, case .underWay(let task, let request) = work else { return }
        link.log.warning("a handler did not answer within \(HandlerWork.limit)", metadata: ["peer": "\(link.peer)"])
        work = .stuck(task)
        task.cancel()
        for job in takeRequests(after: request) { link.giveUp(job) }
    }

    /// Takes out all requests; commands go on waiting.
    private func takeRequests(after first: Waiting?) -> [Job] {
        var requests = [first].compactMap { $0?.job }
        waiting.removeAll { waiting in
            if waiting.deadline != nil { requests.append(waiting.job) }
            return waiting.deadline != nil
        }
        deadlines = RingBuffer()
        return requests
    }
}

/// One call of a program's handlers.
struct HandlerWork: Sendable {
    /// What came of it.
    enum Outcome: Sendable {
        case value([UInt8])
        case accepted
        /// Authorised; for as long as the link lasts where it says for what.
        case authorized(AttributeHandleRange?)
    }

    /// How long a request may take, five seconds less than the peer waits.
    static let limit = Duration.seconds(25)

    var waiting: PeerRequests.Waiting
    var peer: BluetoothAddress
    var connection: WeakReference<Connection>?
    var server: LocalServer
    var log: Logger

    func result() async -> Result<Outcome, ATTErrorCode> {
        do {
            switch waiting.job {
            case .read(let request, _):
                let handlers = server.handlers(of: request.handle)
                let access = access(request.handle, 0)
                let value: [UInt8]
                if case .inTurn(let receiver)? = handlers?.events {
                    value = try await ask(receiver) { .read(access, $0) }
                } else if let read = handlers?.read {
                    value = try await read(access)
                } else {
                    return .failure(.readNotPermitted)
                }
                guard value.count <= AttributeProtocol.maximumAttributeValueLength else {
                    log.warning(
                        "a handler read \(value.count) bytes of \(request.handle), more than a value can have",
                        metadata: ["peer": "\(peer)"])
                    return .failure(.unlikelyError)
                }
                return .success(.value(value))
            case .write(let request, _): try await take(request.writes)
            case .command(let write): try await take([write])
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
        guard let (range, handlers) = server.publication(of: handle), let authorize = handlers.authorize else {
            return .failure(.insufficientAuthorization)
        }
        let request = AuthorizationRequest(peer: peer, handle: handle, type: type(of: handle), access: access)
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

    private func take(_ writes: [AttributeWrite]) async throws {
        if let first = writes.first, case .inTurn(let receiver)? = server.handlers(of: first.handle)?.events {
            _ = try await ask(receiver) { .write(writes, $0) }
            return
        }
        for write in writes {
            guard let body = server.handlers(of: write.handle)?.write else { throw ATTErrorCode.writeNotPermitted }
            try await body(access(write.handle, write.offset), write.value)
        }
    }

    /// Hands over an event with its question, and waits for the answer.
    private func ask(
        _ receiver: PeerEventDelivery.Receiver, _ event: (PeerQuestion) -> PeerEvent
    ) async throws(ATTErrorCode) -> [UInt8] {
        let answer = Promise<[UInt8], ATTErrorCode>()
        // The connection is not kept meanwhile.
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

    private func logFailure(_ error: any Error) {
        // One that was cancelled, since nobody waits for it any more, has not failed.
        log.log(
            level: Task.isCancelled ? .debug : .warning, "a handler failed: \(error)", metadata: ["peer": "\(peer)"])
    }
}

/// What a device wants to do that takes authorisation; see ``AttributeHandlers/authorize``.
public struct AuthorizationRequest: Sendable, Hashable {
    /// The device that asks.
    public var peer: BluetoothAddress
    /// The attribute: the handle of a characteristic's value or of a descriptor.
    public var handle: AttributeHandle
    /// What the attribute is.
    public var type: BluetoothUUID
    /// Whether it wants to read or to write it.
    public var access: AttributeAccess

    /// A request from its parts.
    public init(peer: BluetoothAddress, handle: AttributeHandle, type: BluetoothUUID, access: AttributeAccess) {
        self.peer = peer
        self.handle = handle
        self.type = type
        self.access = access
    }
}

/// What a program says to a device that wants to do what takes authorisation.
public enum ClientAuthorization: Sendable, Hashable {
    /// It may not: it is told Insufficient Authorization, and the next time is asked about anew.
    case refused
    /// It may this time, of which a write in several parts is one.
    case once
    /// It may, and may do everything that takes authorisation with the attributes published together with this one, for
    /// as long as the link lasts; among it, be sent values. That alone is not asked about.
    case whileConnected
}
