import BluetoothLE
import LINBLE
import LINBLESimulation

/// The server of the sample protocol: the microcontroller on a LINBLE's UART.
///
/// A pure state machine: bytes and expired timers in, actions out. Its owner sends and waits.
public struct SampleMicrocontroller: AttachedDevice {
    /// The eight registers.
    public private(set) var registers: [UInt8]
    /// The version of its firmware.
    public let version: String
    /// The device's name.
    public private(set) var name: String
    /// The time between two samples.
    public let sampleInterval: Duration
    /// The number of invalid packets, to which it does not respond.
    public private(set) var discardedPackets = 0

    private var receiver = SampleReceiver<SampleCommand>()
    private var remainingSampling: Duration = .zero
    private var sampleCount = 0

    /// A microcontroller in its initial state.
    /// - Parameters:
    ///   - registers: the initial values of the registers; missing ones are 0, those after the eighth are ignored.
    ///   - version: its version: printable ASCII, at most 254 characters.
    ///   - name: its name: printable ASCII, at most 254 characters.
    ///   - sampleInterval: the time between two samples, 1 ms at least.
    public init(
        registers: [UInt8] = [0x00, 0x11, 0xFF, 0x33, 0x44, 0x55, 0x66, 0x77], version: String = "1.2.3.987654",
        name: String = "Sample-UartController-001", sampleInterval: Duration = .milliseconds(250)
    ) {
        self.registers = Array((registers + Array(repeating: 0, count: 8)).prefix(8))
        self.version = version
        self.name = name
        self.sampleInterval = max(sampleInterval, .milliseconds(1))
    }

    /// Receives bytes from the UART.
    public mutating func receive(_ bytes: [UInt8]) -> [AttachedDeviceAction] {
        do {
            try receiver.append(bytes)
        } catch {
            // More bytes at once than any UART delivers: all are discarded.
            receiver.reset()
            discardedPackets &+= 1
            return []
        }
        var actions: [AttachedDeviceAction] = []
        while let element = receiver.next() {
            switch element {
            case .message(let command): actions += answer(command)
            case .discarded: discardedPackets &+= 1
            }
        }
        return actions
    }

    /// Handles the expiry of the requested timer.
    public mutating func timerExpired() -> [AttachedDeviceAction] {
        guard remainingSampling > .zero else { return [] }
        remainingSampling -= sampleInterval
        guard remainingSampling >= .zero else { return endOfSampling() }
        let sample = send(.sample(nextReading()))
        return sample + (remainingSampling > .zero ? [.setTimer(sampleInterval)] : endOfSampling())
    }

    /// Stops sampling and discards an incomplete packet, as when the link is lost.
    public mutating func disconnected() -> [AttachedDeviceAction] {
        receiver.reset()
        remainingSampling = .zero
        return [.setTimer(nil)]
    }

    private mutating func answer(_ command: SampleCommand) -> [AttachedDeviceAction] {
        switch command {
        case .linkTest: return send(.linkTest)
        case .readRegister(let register): return send(.register(register, value: registers[Int(register) & 7]))
        case .writeRegister(let register, let value):
            registers[Int(register) & 7] = value
            return send(.registerWritten)
        case .readVersion: return send(.version(version))
        case .startSampling(let seconds):
            remainingSampling = .seconds(Int(seconds))
            return send(.samplingStarted) + [.setTimer(sampleInterval)]
        case .readName: return send(.name(name))
        case .writeName(let name):
            self.name = name
            return send(.nameWritten)
        }
    }

    private func send(_ response: SampleResponse) -> [AttachedDeviceAction] {
        // Fails only if the initial version or name was not printable ASCII.
        guard let bytes = try? response.encoded() else { return [] }
        return [.send(bytes)]
    }

    private mutating func endOfSampling() -> [AttachedDeviceAction] {
        remainingSampling = .zero
        return send(.samplingEnded)
    }

    /// A triangle wave around 124, so that a graph of the samples has a shape.
    private mutating func nextReading() -> Float {
        let phase = sampleCount % 16
        sampleCount &+= 1
        return 123 + Float(phase < 8 ? phase : 16 - phase) * 0.25
    }
}

extension SampleMicrocontroller {
    /// Serves the UART of a central: responds to its commands and sends samples, until the central ends
    /// its subscription.
    ///
    /// Throws the reason for the link's end, or `cancelled` if the task was cancelled. Afterwards it has the registers and the name
    /// that the central has set.
    public mutating func serve(
        _ central: UARTCentral, isolation: isolated (any Actor)? = #isolation
    ) async throws(BluetoothError) {
        defer { _ = disconnected() }
        let loop = central.connection.loop
        var deadline: KernelInstant?
        while true {
            let actions: [AttachedDeviceAction]
            do throws(BluetoothError) {
                let timeout = deadline.map { max(.zero, loop.now.duration(to: $0)) }
                guard let bytes = try await central.read(timeout: timeout) else { return }
                actions = receive(bytes)
            } catch {
                guard error.code == .timedOut, deadline != nil else { throw error }
                deadline = nil
                actions = timerExpired()
            }
            for action in actions {
                switch action {
                case .send(let bytes): try await central.send(bytes)
                case .setTimer(let duration): deadline = duration.map { loop.now.advanced(by: $0) }
                }
            }
        }
    }
}
