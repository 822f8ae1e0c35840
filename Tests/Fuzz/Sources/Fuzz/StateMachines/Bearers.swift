import BluetoothATT
import BluetoothGATT
import BluetoothPrimitives

/// A bearer's core with every input in any order: each operation ends once, and the bearer's rules hold.
let bearerCore = FuzzTarget("bearer-core") { source in
    let bearer = BearerModel(isEnhanced: source.flag())
    while !source.isEmpty { bearer.step(&source) }
    bearer.end()
}

/// A transaction, a command or a value that must end once.
final class FuzzOperation: ClientTransaction, CommandMessage, ValueUpdate {
    let characteristic: AttributeHandle
    let value: [UInt8]
    private var procedure: any ClientProcedure
    private let isTransaction: Bool
    private var hasResult = false
    private(set) var ends = 0
    var isAbandoned = false

    init(_ procedure: (any ClientProcedure)? = nil, of handle: AttributeHandle = 6, _ value: [UInt8] = []) {
        (self.procedure, isTransaction) = (procedure ?? ValueRead(handle), procedure != nil)
        (characteristic, self.value) = (handle, value)
    }

    func writeRequest(into writer: inout ByteWriter) throws(TransactionFailure) {
        try procedure.writeRequest(into: &writer)
    }

    func write(into writer: inout ByteWriter) throws(TransactionFailure) {
        do {
            let value = value
            try ATTClientPDU.writeCommand(characteristic, value: value.span.bytes).encode(into: &writer)
        } catch {
            throw .invalid("\(error)")
        }
    }

    func receive(_ answer: ATTServerPDU) throws(TransactionFailure) -> TransactionStep {
        guard try procedure.isDone(after: answer) else { return .next }
        hasResult = true
        return .done
    }

    func stop() -> TransactionStep { procedure.stop() ? .next : .done }

    func end(_ failure: TransactionFailure?) {
        ends += 1
        require(ends == 1, "an operation ends twice, with \(failure.map { "\($0)" } ?? "success")")
        require(failure != nil || hasResult || !isTransaction, "a transaction succeeds without a result")
        isAbandoned = true
    }
}

extension ClientProcedure {
    /// Whether the procedure has its result.
    mutating func isDone(after answer: ATTServerPDU) throws(TransactionFailure) -> Bool {
        if case .done = try receive(answer) { true } else { false }
    }
}

/// A bearer's core with its owner, whose channel and peer are the input.
private final class BearerModel {
    private static let waitingLimit = 4
    private var core: ATTBearerCore
    private var database = FuzzDatabase.initial
    private var writer = ByteWriter(growingTo: 517)
    private var isFull = false
    private var operations: [(operation: FuzzOperation, wasGivenUp: Bool)] = []
    private var events: [GATTServerEvent] = []
    /// The requests sent, and the responses that may have answered them.
    private var (sent, answered) = (0, 0)
    /// The peer's request that has no response yet.
    private var pending: ATTOpcode?
    private var timers: Set<BearerTimer> = []
    private var isClosed = false

    init(isEnhanced: Bool) {
        core = ATTBearerCore(
            server: GATTServer(limits: FuzzDatabase.limits), isEnhanced: isEnhanced, waitingLimit: Self.waitingLimit)
        core.server.asksForAuthorization = true
    }

    func step(_ source: inout ByteSource) {
        switch source.number(below: 24) {
        case 0:
            let procedure = procedure(&source)
            add(FuzzOperation(procedure)) { core.submit($0 as any ClientTransaction) }
        case 1, 2:
            let value = source.bytes(atMost: 60)
            add(FuzzOperation(ReliableWrite(value, to: 3))) {
                core.submit($0 as any ClientTransaction, reportsBeginning: true)
            }
        case 3: add(FuzzOperation(of: 3, source.bytes(atMost: 30))) { core.submit($0 as any CommandMessage) }
        case 4: add(FuzzOperation(of: FuzzDatabase.handle(&source), source.bytes(atMost: 30))) { core.notify($0) }
        case 5: add(FuzzOperation(of: FuzzDatabase.handle(&source), source.bytes(atMost: 30))) { core.indicate($0) }
        case 6:
            let value = source.bytes(atMost: 30)
            if core.encodeCommand(value.span.bytes, to: 3, into: &writer) { send() }
        case 7:
            let value = source.bytes(atMost: 30)
            if core.encodeNotification(value.span.bytes, of: 6, database: database, into: &writer) { send() }
        case 8: if let index = source.choose(Array(operations.indices)) { giveUp(index) }
        case 9: isFull.toggle()
        case 10:
            isFull = false
            core.channelIsWritable()
        case 11: core.channelIsFull()
        case 12: core.channelHolds()
        case 14: core.databaseChanged(in: .all, database, serviceChanged: 0x0013)
        case 15: core.server.security = FuzzDatabase.security(&source)
        case 16: answer(&source)
        case 17 where source.byte() == 0: core.timedOut()
        case 18 where source.byte() == 0: core.channelEnded()
        case 19:
            // A response of the right kind.
            receive([core.owed.request?.answer?.rawValue ?? 0x0B] + source.bytes(atMost: 30))
        case 20: receive(FuzzDatabase.request(&source))
        default: receive(source.bytes(atMost: 40))
        }
        run()
    }

    /// Ends the bearer; every operation has its end then.
    func end() {
        _ = core.close()
        isClosed = true
        run()
        for (operation, wasGivenUp) in operations {
            require(operation.ends == 1 || wasGivenUp, "an operation has no end")
        }
    }

    private func add(_ operation: FuzzOperation, _ submit: (FuzzOperation) -> Void) {
        operations.append((operation, false))
        submit(operation)
    }

    private func giveUp(_ index: Int) {
        guard operations[index].operation.ends == 0 else { return }
        operations[index].wasGivenUp = true
        operations[index].operation.isAbandoned = true
    }

    private func answer(_ source: inout ByteSource) {
        let code = ATTErrorCode(rawValue: source.byte() | 1)
        let result: Result<[UInt8], ATTErrorCode> = source.flag() ? .success(source.bytes(atMost: 40)) : .failure(code)
        events = core.answer(source.choose(events), with: result, database: &database)
    }

    private func receive(_ bytes: [UInt8]) {
        guard let opcode = bytes.first.map({ ATTOpcode($0) }) else { return }
        guard opcode.isSentByClient, opcode != .handleValueConfirmation else {
            answered += opcode.type == .response ? 1 : 0
            _ = try? core.receive(bytes.span.bytes)
            return
        }
        let new = core.receive(bytes.span.bytes, database: &database)
        if new != [.requestOutOfTurn(opcode)] {
            events = new
            if opcode.type == .request, !isClosed { pending = opcode }
        }
    }

    private func run() {
        var count = 0
        while let step = core.next(into: &writer) {
            count += 1
            require(count < 10_000, "the steps do not end: \(step)")
            switch step {
            case .send: send()
            case .encodeValue: if core.encodeValue(database: database, into: &writer) { send() }
            case .end(let ended): ended.operation.end(ended.failure)
            case .began: core.takeBegun()?.began()
            case .clientChanged: break
            case .setTimer(let timer, let isOn): if isOn { timers.insert(timer) } else { timers.remove(timer) }
            case .setReading: require(!isClosed, "reading changes after the end")
            case .close(let failure):
                require(!isClosed, "a closed bearer is closed")
                _ = core.close(failure)
                isClosed = true
            }
        }
        require(timers.contains(.request) == (core.owed.request != nil), "the request's timer")
        require(timers.contains(.indication) == core.isConfirmationDue, "the indication's timer")
        require(core.requestCount <= Self.waitingLimit + 1, "\(core.requestCount) requests wait")
        require(core.server.preparedWriteCount <= FuzzDatabase.limits.preparedWrites, "too many prepared writes")
    }

    private func send() {
        let pdu = writer.bytes
        require(!isClosed, "\(pdu) is sent after the end")
        require(!pdu.isEmpty && pdu.count <= core.mtu, "\(pdu) for an ATT_MTU of \(core.mtu)")
        guard !isFull else { return core.channelIsFull() }
        let opcode = ATTOpcode(pdu[0])
        switch opcode.type {
        case .request:
            sent += 1
            require(core.owed.request == nil && sent <= answered + 1, "two requests at a time: \(pdu)")
        case .indication: require(!core.isConfirmationDue, "two indications at a time")
        case .response:
            let isAnswer = opcode == .errorResponse ? pdu[1] == pending?.rawValue : opcode == pending?.answer
            require(isAnswer, "\(pdu) in response to \(pending.map { "\($0)" } ?? "nothing")")
            pending = nil
        case .command, .notification, .confirmation: break
        }
        core.didSend()
    }
}
