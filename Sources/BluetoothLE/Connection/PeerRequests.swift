import ATT
import BluetoothKernel
import BluetoothPrimitives
import GATT
import Logging

/// What a peer's client asks of the program, in order, and who wants to know of its subscriptions.
///
/// Made when the peer first asks for something that the database cannot answer.
final class PeerRequests {
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

    /// The most that may wait: a request of each bearer, and commands, which a server may pass over when they are too many.
    static let capacity = 256

    private(set) var waiting = RingBuffer<Waiting>()
    /// The deadlines of the requests among them.
    private var deadlines = RingBuffer<KernelInstant>()
    /// What the request just answered needs besides, or what comes of a command just authorised: done before all others.
    var next: Waiting?
    /// What is being answered, so that what comes of it is known to go on with it.
    var answered: Waiting?
    /// The request that the program is at work on.
    var question: Waiting?
    /// Works off what waits; there is none while nothing does.
    var worker: Task<Void, Never>?
    /// The handler has used up its time, and has still not returned.
    var isStuck = false
    var watchdog: LoopTimer?
    var missedCommands = 0
    var subscriptions = Broadcaster<PeerSubscription>()

    var isIdle: Bool { next == nil && waiting.isEmpty }

    /// When the first of the requests that are at work or wait has to be answered.
    var deadline: KernelInstant? { question?.deadline ?? deadlines.first }

    func append(_ job: Waiting) {
        waiting.append(job)
        if let deadline = job.deadline { deadlines.append(deadline) }
    }

    func popFirst() -> Waiting? {
        if let next = next.take() { return next }
        guard let first = waiting.popFirst() else { return nil }
        if first.deadline != nil { _ = deadlines.popFirst() }
        return first
    }

    /// Takes out all requests, at work and waiting; commands go on waiting.
    func takeRequests() -> [Job] {
        var requests = [question].compactMap { $0?.job }
        question = nil
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
