import BluetoothHost
import BluetoothLoop
import BluetoothManagement
import BluetoothPrimitives

/// A command, and the caller that waits for its reply.
protocol ManagementCall: AnyObject {
    var command: any ManagementCommand { get }
    /// Whether the caller has stopped waiting.
    var isAbandoned: Bool { get }
    /// Decodes and keeps the reply, and returns it.
    func receive(_ reply: RawSpan) throws(TruncatedBytes) -> any ManagementReply
    /// Whether the command of a busy kernel is to be sent once more.
    func takeRepetition() -> Bool
    /// Passes the reply, or a failure, to the caller.
    func finish(_ failure: BluetoothError?)
}

/// A call of a command of one type.
final class TypedManagementCall<Command: ManagementCommand>: ManagementCall {
    enum Caller {
        case promise(Promise<Command.Reply, BluetoothError>)
        case completion((Result<Command.Reply, BluetoothError>) -> Void)
        case done((BluetoothError?) -> Void, isAbandoned: () -> Bool)
    }

    private let typed: Command
    private let caller: Caller
    /// The number of times that the command is sent again to a busy kernel.
    private var repetitions: Int
    private var reply: Command.Reply?

    init(_ command: Command, _ caller: Caller, whenIdle: Bool = false) {
        (typed, self.caller) = (command, caller)
        repetitions = whenIdle ? 20 : 0
    }

    var command: any ManagementCommand { typed }

    var isAbandoned: Bool {
        switch caller {
        case .promise(let promise): promise.isResolved
        case .completion: false
        case .done(_, let isAbandoned): isAbandoned()
        }
    }

    func receive(_ reply: RawSpan) throws(TruncatedBytes) -> any ManagementReply {
        var reader = ByteReader(reply)
        let reply = try Command.Reply(reading: &reader)
        self.reply = reply
        return reply
    }

    func takeRepetition() -> Bool {
        repetitions -= 1
        return repetitions >= 0 && !isAbandoned
    }

    func finish(_ failure: BluetoothError?) {
        let answer: Result<Command.Reply, BluetoothError>
        switch (failure, reply) {
        case (let failure?, _): answer = .failure(failure)
        case (nil, let reply?): answer = .success(reply)
        // Without a failure it has been received.
        case (nil, nil): return
        }
        switch caller {
        case .promise(let promise): promise.resolve(answer)
        case .completion(let completion): completion(answer)
        case .done(let completion, _): completion(failure)
        }
    }
}
