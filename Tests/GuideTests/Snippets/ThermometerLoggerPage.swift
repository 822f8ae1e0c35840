// The steps of Docs/Guide/Tutorials/ThermometerLogger.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothSimulation
import Foundation

/// Docs/Guide/Tutorials/ThermometerLogger.md
enum ThermometerLoggerPage {
    /// Find the thermometer
    enum FindTheThermometer {
        // Sources/thermometer-logger/ThermometerLogger.swift
        struct ThermometerLogger {
            static func main() async {
                do throws(BluetoothError) {
                    try await run()
                } catch {
                    print(error)
                    exit(1)
                }
            }

            static func run() async throws(BluetoothError) {
                let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                let options = ScanOptions(filter: .service(.healthThermometer), scanResponseTimeout: .milliseconds(100))
                let found = try await adapter.firstAdvertisement(options: options)
                print("found", found.localName ?? "a thermometer", found.address ?? .zero)
            }
        }
    }

    /// Read a value
    enum ReadAValue {
        // Sources/thermometer-logger/ThermometerLogger.swift
        struct ThermometerLogger {
            static func main() async {
                do throws(BluetoothError) {
                    try await run()
                } catch {
                    print(error)
                    exit(1)
                }
            }

            static func run() async throws(BluetoothError) {
                let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                let options = ScanOptions(filter: .service(.healthThermometer), scanResponseTimeout: .milliseconds(100))
                let found = try await adapter.firstAdvertisement(options: options)
                print("found", found.localName ?? "a thermometer", found.address ?? .zero)

                let connection = try await adapter.connect(to: found)
                for service in try await connection.discover() {
                    print(service.uuid, service.characteristics.map(\.uuid))
                }
                print("type:", try await connection.read(.temperatureType, in: .healthThermometer))
                await connection.disconnect()
            }
        }
    }

    /// Decode a measurement
    enum DecodeAMeasurement {
        // Sources/thermometer-logger/Temperature.swift
        /// A value of the characteristic Temperature Measurement.
        struct Temperature {
            /// Nil if the thermometer has no value.
            var celsius: Double?

            /// Nil if the bytes are no Temperature Measurement.
            init?(_ bytes: [UInt8]) {
                guard bytes.count >= 5 else { return nil }
                var mantissa = Int(bytes[1]) | Int(bytes[2]) << 8 | Int(bytes[3]) << 16
                // Reserved: infinite, not a number, not at this resolution.
                guard !(0x7FFFFE...0x800002).contains(mantissa) else { return }
                if mantissa >= 0x800000 { mantissa -= 0x1000000 }
                let exponent = Double(Int8(bitPattern: bytes[4]))
                // Dividing by 10 is exact where multiplying by 0.1 is not.
                let value = exponent < 0 ? Double(mantissa) / pow(10, -exponent) : Double(mantissa) * pow(10, exponent)
                let isFahrenheit = bytes[0] & 1 != 0
                celsius = isFahrenheit ? ((value - 32) * 500 / 9).rounded() / 100 : value
            }
        }

        typealias ThermometerLogger = ReadAValue.ThermometerLogger
    }

    /// Subscribe
    enum Subscribe {
        typealias Temperature = DecodeAMeasurement.Temperature

        // Sources/thermometer-logger/ThermometerLogger.swift
        struct ThermometerLogger {
            static func main() async {
                do throws(BluetoothError) {
                    try await run()
                } catch {
                    print(error)
                    exit(1)
                }
            }

            static func run() async throws(BluetoothError) {
                let adapter = try await Adapter.open(power: .powerOn, on: .environment)
                let options = ScanOptions(filter: .service(.healthThermometer), scanResponseTimeout: .milliseconds(100))
                let found = try await adapter.firstAdvertisement(options: options)
                let connection = try await adapter.connect(to: found)
                log("time", "celsius", "note")
                for try await bytes in try await connection.subscribe(to: .temperatureMeasurement, in: .healthThermometer) {
                    log(bytes)
                }
            }

            /// Logs a measurement.
            static func log(_ bytes: [UInt8]) {
                let time = Date.now.ISO8601Format()
                guard let temperature = Temperature(bytes) else { return log(time, "", "not a measurement: \(bytes)") }
                log(time, temperature.celsius.map { "\($0)" } ?? "", temperature.celsius == nil ? "no value" : "")
            }

            /// Writes a line of CSV.
            static func log(_ fields: String...) {
                let quoted = fields.map { field in
                    field.contains { ",\"\n".contains($0) } ? "\"\(field.replacing("\"", with: "\"\""))\"" : field
                }
                print(quoted.joined(separator: ","))
                fflush(nil)
            }
        }
    }

    /// Survive lost links
    enum SurviveLostLinks {
        typealias Temperature = DecodeAMeasurement.Temperature

        // Sources/thermometer-logger/ThermometerLogger.swift
        struct ThermometerLogger {
            static func main() async {
                do throws(BluetoothError) {
                    try await run()
                } catch {
                    FileHandle.standardError.write(Data("\(error)\n".utf8))
                    exit(error.exitStatus)
                }
            }

            static func run() async throws(BluetoothError) {
                let adapter = try await Adapter.open(power: .powerOn, waitingFor: .seconds(60), on: .environment)
                let options = ScanOptions(filter: .service(.healthThermometer), whenAdapterUnavailable: .resume)
                let found = try await adapter.firstAdvertisement(timeout: nil, options: options)
                let kept = try adapter.keepConnected(to: found)
                log("time", "celsius", "note")
                for try await notice in try await kept.subscribe(
                    to: .temperatureMeasurement, in: .healthThermometer, timeout: nil)
                {
                    switch notice {
                    case .value(let bytes): log(bytes)
                    case .interrupted(let reason): log(Date.now.ISO8601Format(), "", "interrupted: \(reason.message)")
                    case .resumed: log(Date.now.ISO8601Format(), "", "resumed")
                    }
                }
            }

            /// Logs a measurement.
            static func log(_ bytes: [UInt8]) {
                let time = Date.now.ISO8601Format()
                guard let temperature = Temperature(bytes) else { return log(time, "", "not a measurement: \(bytes)") }
                log(time, temperature.celsius.map { "\($0)" } ?? "", temperature.celsius == nil ? "no value" : "")
            }

            /// Writes a line of CSV.
            static func log(_ fields: String...) {
                let quoted = fields.map { field in
                    field.contains { ",\"\n".contains($0) } ? "\"\(field.replacing("\"", with: "\"\""))\"" : field
                }
                print(quoted.joined(separator: ","))
                fflush(nil)
            }
        }
    }
}
