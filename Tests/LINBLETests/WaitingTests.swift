import BluetoothLE
import BluetoothLinux
import Testing

@testable import LINBLE

@Suite(.timeLimit(.minutes(1))) struct WaitingTests {
    private let loop: EventLoop

    init() throws {
        loop = try LinuxKernel.shared.loop
    }

    private func buffer(capacity: Int = 8) -> ReceiveBuffer {
        ReceiveBuffer(capacity: capacity, operation: .init("receive"))
    }

    private let lost = BluetoothError(.disconnected, .init("receive"), "Lost.")

    private func code(_ body: () async throws(BluetoothError) -> [UInt8]?) async -> BluetoothError.Code? {
        do throws(BluetoothError) {
            _ = try await body()
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: TurnQueue

    @Test func turnsAreTakenInOrderAndACancelledWaiterIsPassedOver() async throws {
        let turns = TurnQueue()
        #expect(await turns.enter())
        let order = ReceiveBuffer(capacity: 100, operation: .init("note"))
        var tasks: [Task<Bool, Never>] = []
        for number in 1...3 as ClosedRange<UInt8> {
            let waiting = turns.waiterCount
            tasks.append(
                Task {
                    guard await turns.enter() else { return false }
                    _ = await order.append([number])
                    turns.leave()
                    return true
                })
            while turns.waiterCount == waiting { await Task.yield() }
        }
        tasks[1].cancel()
        #expect(await tasks[1].value == false)
        turns.leave()
        #expect(await tasks[0].value)
        #expect(await tasks[2].value)
        #expect(try await order.read(until: nil, on: loop) == [1, 3])
        #expect(await turns.enter())
    }

    // MARK: ReceiveBuffer

    @Test func allThatIsThereIsReadAtOnce() async throws {
        let buffer = buffer()
        #expect(await buffer.append([1, 2]))
        #expect(await buffer.append([3]))
        #expect(try await buffer.read(until: nil, on: loop) == [1, 2, 3])
        #expect(buffer.total == 3)
    }

    @Test func aReaderThatWaitsIsWoken() async throws {
        let buffer = buffer()
        async let bytes = buffer.read(until: nil, on: loop)
        #expect(await buffer.append([1]))
        #expect(try await bytes == [1])
    }

    @Test func whoeverFillsWaitsWhileItIsFull() async throws {
        let buffer = buffer(capacity: 2)
        async let filling = buffer.append([1, 2, 3])
        #expect(try await buffer.read(until: nil, on: loop) == [1, 2, 3])
        #expect(await filling)
        let task = Task { await buffer.append([1, 2]) }
        task.cancel()
        #expect(await task.value == false)
    }

    @Test func whatCameBeforeTheEndIsReadBeforeTheEnd() async throws {
        let failed = buffer()
        _ = await failed.append([1])
        failed.finish(lost)
        failed.finish(nil)
        #expect(await code { () async throws(BluetoothError) in try await failed.read(until: nil, on: loop) } == nil)
        #expect(
            await code { () async throws(BluetoothError) in try await failed.read(until: nil, on: loop) }
                == .disconnected)
        let regular = buffer()
        regular.finish(nil)
        #expect(try await regular.read(until: nil, on: loop) == nil)
    }

    @Test func aReadEndsByTimeAndByCancellationAndLosesNothing() async throws {
        let (buffer, loop) = (buffer(), loop)
        #expect(
            await code { () async throws(BluetoothError) in
                try await buffer.read(until: loop.now.advanced(by: .milliseconds(1)), on: loop)
            } == .timedOut)
        let task = Task { () -> BluetoothError.Code? in
            do throws(BluetoothError) {
                _ = try await buffer.read(until: nil, on: loop)
                return nil
            } catch {
                return error.code
            }
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await buffer.append([7]))
        #expect(try await buffer.read(until: nil, on: loop) == [7])
    }
}
