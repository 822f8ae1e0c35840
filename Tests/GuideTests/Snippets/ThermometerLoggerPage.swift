// The steps of Docs/Guide/Tutorials/ThermometerLogger.md, for the compiler. Generated from it:
//     GUIDE_WRITE=1 swift test --filter GuideTests
// swift-format-ignore-file

import BluetoothLE
import BluetoothProfiles
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
                print("type:", try await connection.read(.temperatureType))
                await connection.disconnect()
            }
        }
    }

    /// Subscribe
    enum Subscribe {
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
                for try await measurement in try await connection.subscribe(to: .temperatureMeasurement) {
                    log(measurement.celsius)
                }
            }

            /// Logs a measurement.
            static func log(_ celsius: Double) {
                let time = Date.now.ISO8601Format()
                if celsius.isNaN { log(time, "", "no value") } else { log(time, "\(celsius)", "") }
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
                let adapter = try await Adapter.open(
                    power: .powerOn, configuration: .init(timeout: .seconds(60)), on: .environment)
                let options = ScanOptions(filter: .service(.healthThermometer), whenAdapterUnavailable: .resume)
                let found = try await adapter.firstAdvertisement(timeout: nil, options: options)
                let kept = try adapter.keepConnected(to: found)
                log("time", "celsius", "note")
                for try await notice in try await kept.subscribe(to: .temperatureMeasurement, timeout: nil) {
                    switch notice {
                    case .value(let measurement): log(measurement.celsius)
                    case .interrupted(let reason): log(Date.now.ISO8601Format(), "", "interrupted: \(reason.message)")
                    case .resumed: log(Date.now.ISO8601Format(), "", "resumed")
                    }
                }
            }

            /// Logs a measurement.
            static func log(_ celsius: Double) {
                let time = Date.now.ISO8601Format()
                if celsius.isNaN { log(time, "", "no value") } else { log(time, "\(celsius)", "") }
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
