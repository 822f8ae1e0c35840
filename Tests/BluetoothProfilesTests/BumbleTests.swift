import BluetoothProfiles
import Testing

/// Values that Bumble encodes: each becomes the other.
@Suite struct BumbleTests {
    @Test func heartRatesAreThoseOfBumble() throws {
        let codec = Characteristic.heartRateMeasurement.codec
        #expect(BumbleVectors.heartRates.count == 90)
        for (rate, hasContact, energy, intervals, bytes) in BumbleVectors.heartRates {
            let value = HeartRateMeasurement(
                rate: rate, hasContact: hasContact, energyExpended: energy, rrIntervals: intervals)
            let (decoded, encoded) = (try codec.decode(bytes), try codec.encode(value))
            #expect(decoded == value)
            #expect(encoded == bytes)
        }
    }

    @Test func locationsAreThoseOfBumble() throws {
        for (code, name) in BumbleVectors.locations {
            let location = try Characteristic.bodySensorLocation.codec.decode([code])
            #expect("\(location)" == name)
        }
    }

    @Test func systemIDsAreThoseOfBumble() throws {
        let codec = Characteristic.systemID.codec
        for (manufacturer, organization, bytes) in BumbleVectors.systemIDs {
            let value = SystemID(
                manufacturerIdentifier: manufacturer, organizationallyUniqueIdentifier: organization)
            let (decoded, encoded) = (try codec.decode(bytes), try codec.encode(value))
            #expect(decoded == value)
            #expect(encoded == bytes)
        }
    }

    @Test func batteryLevelsAreThoseOfBumble() throws {
        let codec = Characteristic.batteryLevel.codec
        for (level, bytes) in BumbleVectors.batteryLevels {
            let (decoded, encoded) = (try codec.decode(bytes), try codec.encode(level))
            #expect(decoded == level)
            #expect(encoded == bytes)
        }
    }
}
