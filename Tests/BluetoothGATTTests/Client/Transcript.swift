import BluetoothATT
import BluetoothPrimitives
import TestSupport
import Testing

import BluetoothGATT

/// The exchanges of a client procedure with a server and its result.
struct Transcript: Sendable, CustomTestStringConvertible {
    /// The case, and the section of the specification.
    var story: String
    var mtu: Int
    var procedure: any ClientProcedure
    /// Requests and their responses, in hexadecimal.
    var exchanges: [(request: String, answer: String)]
    /// The result, see ``ending(_:)-result`` and ``ending(_:)-failure``.
    var ending: String

    init(
        _ story: String, mtu: Int = 23, _ procedure: any ClientProcedure, _ exchanges: KeyValuePairs<String, String>,
        _ ending: String
    ) {
        self.init(story, mtu: mtu, procedure, exchanges.map { ($0.key, $0.value) }, ending)
    }

    init(
        _ story: String, mtu: Int = 23, _ procedure: any ClientProcedure, _ exchanges: [(String, String)],
        _ ending: String
    ) {
        self.story = story
        self.mtu = mtu
        self.procedure = procedure
        self.exchanges = exchanges.map { (request: $0.0, answer: $0.1) }
        self.ending = ending
    }

    var testDescription: String { story }

    /// Checks the procedure's requests and its result.
    func check() {
        var conversation = Conversation(procedure, mtu: mtu)
        for (index, exchange) in exchanges.enumerated() {
            guard case .asks(let request) = conversation.state else {
                Issue.record("ended before request \(index) with \(conversation.state)")
                return
            }
            #expect(request.hexadecimal == hex(exchange.request).hexadecimal, "request \(index)")
            conversation.answer(hex(exchange.answer))
        }
        #expect(conversation.state == .ended(ending))
    }
}

/// A running procedure.
struct Conversation {
    enum State: Equatable {
        case asks([UInt8])
        case ended(String)
    }

    private enum Stage {
        case asks([UInt8])
        case done(any ProcedureOutput)
        case failed(TransactionFailure)
        /// The engine ends the transaction before the procedure receives the response.
        case malformed
    }

    private var procedure: any ClientProcedure
    private let mtu: Int
    private var stage = Stage.malformed

    /// Lets `procedure` write its first request.
    init(_ procedure: any ClientProcedure, mtu: Int) {
        self.procedure = procedure
        self.mtu = mtu
        ask()
    }

    /// The outstanding request, or the result.
    var state: State {
        switch stage {
        case .asks(let request): .asks(request)
        case .done(let output): .ended(Self.line([output.ending] + procedure.problems.map(describe)))
        case .failed(let failure): .ended(BluetoothGATTTests.ending(failure))
        case .malformed: .ended("malformed")
        }
    }

    private static func line(_ words: [String]) -> String { words.filter { !$0.isEmpty }.joined(separator: " ") }

    /// The outstanding request.
    var request: [UInt8]? {
        if case .asks(let request) = stage { request } else { nil }
    }

    /// The result.
    var ending: String? {
        if case .ended(let text) = state { text } else { nil }
    }

    /// Passes a response, after which the procedure writes its next request, if any.
    mutating func answer(_ bytes: [UInt8]) {
        guard let pdu = try? ATTServerPDU(decoding: bytes.span.bytes) else {
            stage = .malformed
            return
        }
        do throws(TransactionFailure) {
            if let output = try Self.tell(pdu, to: &procedure) {
                stage = .done(output)
            } else {
                ask()
            }
        } catch {
            stage = .failed(error)
        }
    }

    /// Cancels the procedure, see ``ClientProcedure/stop()``; returns whether a request follows.
    mutating func stop() -> Bool {
        guard procedure.stop() else { return false }
        ask()
        return true
    }

    private mutating func ask() {
        do throws(TransactionFailure) {
            var writer = ByteWriter(capacity: mtu)
            try procedure.writeRequest(into: &writer)
            let first = writer.bytes
            // After congestion the procedure writes the same request again.
            writer.removeAll()
            try procedure.writeRequest(into: &writer)
            if writer.bytes != first { Issue.record("\(writer.bytes.hexadecimal) in place of \(first.hexadecimal)") }
            stage = .asks(first)
        } catch {
            stage = .failed(error)
        }
    }

    /// Passes a response; returns the procedure's result, or nil when it continues.
    private static func tell<Procedure: ClientProcedure>(
        _ answer: ATTServerPDU, to procedure: inout Procedure
    ) throws(TransactionFailure) -> (any ProcedureOutput)? {
        switch try procedure.receive(answer) {
        case .next: nil
        case .done(let output): Output(output)
        }
    }
}

/// The result of a procedure, described on demand.
private protocol ProcedureOutput {
    var ending: String { get }
}

private struct Output<Value>: ProcedureOutput {
    let value: Value

    init(_ value: Value) { self.value = value }

    var ending: String { BluetoothGATTTests.ending(value) }
}

/// A short description of a failure, without its text.
func ending(_ failure: TransactionFailure) -> String {
    switch failure {
    case .refused(let error): "refused " + hexadecimal(error.code.rawValue, digits: 2)
    case .violation: "violation"
    case .invalid: "invalid"
    case .timedOut: "timed out"
    case .closed: "closed"
    case .tooManyWaiting(let count): "\(count) are waiting"
    case .notSendable: "not sendable"
    }
}

/// A result in one line.
func ending<Output>(_ output: Output) -> String {
    switch output {
    // An empty array is an array of anything.
    case let value as [UInt8] where Output.self == [UInt8].self: "value " + value.hexadecimal
    case let database as RemoteDatabase: ending(database.services)
    case let services as [RemoteService]: services.map(describe).joined(separator: "; ")
    case let characteristics as [RemoteCharacteristic]: characteristics.map(describe).joined(separator: " ")
    case let descriptors as [RemoteDescriptor]: descriptors.map(describe).joined(separator: " ")
    case let includes as [RemoteIncludedService]: includes.map(describe).joined(separator: " ")
    case let values as [RemoteValue]:
        values.map { "\(short($0.handle))=\($0.value.hexadecimal)" }.joined(separator: " ")
    case let several as MultipleValueRead.Output:
        several.values.map { $0.isEmpty ? "-" : $0.hexadecimal }.joined(separator: " ")
            + (several.isSupported ? "" : ", not supported")
    case is Void: "done"
    case let found as RemoteCharacteristic?: found.map(describe) ?? "nil"
    default: "\(output)"
    }
}

/// `1800 0001-0005 →180F@… 2A00 …`, with `secondary` for a secondary service.
func describe(_ service: RemoteService) -> String {
    let name = service.isPrimary ? "\(service.uuid)" : "secondary \(service.uuid)"
    let range = "\(short(service.handles.start))-\(short(service.handles.end))"
    return (["\(name) \(range)"] + service.includedServices.map(describe) + service.characteristics.map(describe))
        .joined(separator: " ")
}

/// `→180F@0002/0010-0014`: the declaration, and the first and last handle of the included service.
func describe(_ included: RemoteIncludedService) -> String {
    "→\(included.uuid)@\(short(included.declarationHandle))/\(short(included.handles.start))-\(short(included.handles.end))"
}

/// `2A00@0002/0003-0005[read](2902@0004)`: declaration, value, end, properties, descriptors.
func describe(_ characteristic: RemoteCharacteristic) -> String {
    let handles =
        "\(short(characteristic.declarationHandle))/\(short(characteristic.valueHandle))"
        + "-\(short(characteristic.endHandle))"
    let descriptors = characteristic.descriptors.map(describe).joined(separator: " ")
    return "\(characteristic.uuid)@\(handles)\(characteristic.properties)"
        + (descriptors.isEmpty ? "" : "(\(descriptors))")
}

/// `!valueOutside 2803@0004/0006-0006 2A01`: the declaration, its declared range if any, and its UUID.
func describe(_ problem: DatabaseProblem) -> String {
    let declared = problem.declared.map { "/\(short($0.start))-\(short($0.end))" } ?? ""
    let uuid = problem.uuid.map { " \($0)" } ?? ""
    return "!\(problem.reason.kind) \(problem.attributeType)@\(short(problem.handle))\(declared)\(uuid)"
}

/// `2902@0004`.
func describe(_ descriptor: RemoteDescriptor) -> String {
    "\(descriptor.uuid)@\(short(descriptor.handle))"
}

/// Four hexadecimal digits.
private func short(_ handle: AttributeHandle) -> String { hexadecimal(handle.rawValue, digits: 4) }
