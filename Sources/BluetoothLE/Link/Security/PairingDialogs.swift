import BluetoothHost
import BluetoothLoop
import BluetoothSockets
import BluetoothPrimitives
import Logging

/// The dialogs with the pairing agent: carries out the actions of ``PairingQuestions``, passes the answers to the host
/// and enforces the time limits.
//
// Confined to the event loop, with the pairings.
// Holds more than ten variables: the questions are decided apart; here are the agent, the host and the calls between them.
final class PairingDialogs {
    private let mark: ComponentCount.Mark
    private let loop: EventLoop
    private let host: any HostPairing
    private let links: LinkRegistry
    private let bonds: BondManager
    private let log: Logger
    var agent: any PairingAgent = RefusingPairingAgent()
    private(set) var questions = PairingQuestions()
    /// The tasks in which the agent is called.
    private var calls: [PairingQuestions.Call: Task<Void, Never>] = [:]
    /// The pairings that this program has agreed to.
    var agreed = AgreedPairings()
    /// Fires at the next deadline.
    private var timer: LoopTimer?

    init(
        _ host: any HostPairing, _ links: LinkRegistry, _ bonds: BondManager, on loop: EventLoop, log: Logger
    ) {
        mark = loop.components.mark("PairingDialogs")
        (self.host, self.links, self.bonds, self.loop, self.log) = (host, links, bonds, loop, log)
    }

    var now: KernelInstant { loop.now }

    /// Passes an input to the state machine and performs the actions it returns.
    func update(_ input: (inout PairingQuestions, KernelInstant) -> [PairingQuestions.Action]) {
        perform(input(&questions, loop.now))
    }

    /// Cancels all questions and refuses later ones.
    func close() {
        perform(questions.endAll())
        agent = RefusingPairingAgent()
    }

    /// Marks pairings with a device as this program's own while `body` runs.
    nonisolated(nonsending) func markingOwnPairing<Value>(
        with peer: BluetoothAddress, _ body: nonisolated(nonsending) () async throws(BluetoothError) -> Value
    ) async throws(BluetoothError) -> Value {
        questions.beginOwnPairing(peer)
        defer { questions.endOwnPairing(peer) }
        return try await body()
    }

    /// Holds a question about a link that is not accepted yet; false if that made others drop out.
    func hold(_ question: PairingQuestion, _ peer: BluetoothAddress) -> Bool {
        questions.hold(question, peer, at: loop.now)
    }

    /// Removes and returns the held question about a device.
    func release(_ peer: BluetoothAddress) -> PairingQuestion? { questions.release(peer, at: loop.now) }

    // MARK: Performing actions

    private func perform(_ actions: [PairingQuestions.Action]) {
        for action in actions {
            switch action {
            case .ask(let call, let question, let request): ask(call, question, request)
            case .cancel(let call): calls[call]?.cancel()
            case .reply(let answer, let question, let peer):
                if answer != .no { agreed.add(peer, at: loop.now) }
                links.report(peer, .answered(agrees: answer != .no))
                host.reply(answer, to: question, peer)
            case .disconnect(let peer): host.disconnect(peer, connectedAs: peer)
            }
        }
        guard let moment = questions.nextMoment else {
            timer?.cancel()
            return
        }
        if timer == nil {
            timer = loop.makeLocalTimer { [weak self] in
                if let self { perform(questions.late(at: loop.now)) }
            }
        }
        timer?.set(at: moment)
    }

    private func ask(_ call: PairingQuestions.Call, _ question: PairingQuestion, _ request: PairingRequest) {
        let returned = LoopBound<(PairingAnswer) -> Void>(
            { [weak self] answer in
                guard let self else { return }
                calls[call] = nil
                if answer == .no, let bond = request.bond { bonds.reportRefusal(of: bond.identity, .notConfirmed) }
                perform(questions.answered(call, answer, of: request.peer, at: loop.now))
            }, on: loop)
        calls[call] = Task(executorPreference: loop) { [agent, log] in
            var answer = PairingAnswer.no
            do {
                answer = try await question.answer(of: agent, request)
            } catch {
                log.debug("the pairing agent threw: \(type(of: error))", metadata: ["peer": "\(request.peer)"])
            }
            returned.value(answer)
        }
    }

    // MARK: Asking before pairing

    /// Asks the agent to confirm a pairing that this program is about to begin; throws if it refuses or is out of time.
    /// - Parameter answer: receives the answer; failing it ends the question.
    nonisolated(nonsending) func askFirst(
        _ request: PairingRequest, _ operation: BluetoothError.Operation, until deadline: KernelInstant?,
        _ answer: Promise<Bool, BluetoothError>
    ) async throws(BluetoothError) {
        guard let call = questions.beginCall() else { throw .pairing(operation, .notConfirmed) }
        let limit = loop.now.advanced(by: PairingQuestions.answerLimit)
        let returned = LoopBound<() -> Void>({ [weak self] in self?.questions.endCall(call) }, on: loop)
        let task = Task(executorPreference: loop) { [agent] in
            answer.succeed((try? await agent.confirmPairing(request)) ?? false)
            returned.value()
        }
        defer { task.cancel() }
        var isConfirmed = false
        do {
            isConfirmed = try await answer.value(
                operation, timeout: loop.now.duration(to: min(limit, deadline ?? limit)), on: loop)
        } catch {
            // Only the agent's time limit counts as a refusal, not the caller's.
            guard error.code == .timedOut, deadline.map({ loop.now < $0 }) ?? true else { throw error }
        }
        if !isConfirmed { throw .pairing(operation, .notConfirmed) }
    }
}
