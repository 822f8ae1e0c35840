import BluetoothLE

extension PresentationFormat {
    /// The symbol of the unit, or its assigned name if it has none, such as `°C` and `revolution per minute`; nil for
    /// values without a unit.
    public var unitSymbol: String? {
        guard unit != 0x2700 else { return nil }
        return unit.uint16.flatMap { Self.symbols[$0] } ?? unitName ?? "unit \(unit)"
    }

    /// The symbols of the units whose assigned names are words (Assigned Numbers §3.5).
    private static let symbols: [UInt16: String] = [
        0x2701: "m", 0x2702: "kg", 0x2703: "s", 0x2704: "A", 0x2705: "K", 0x2706: "mol", 0x2707: "cd",
        0x2720: "rad", 0x2721: "sr", 0x2722: "Hz", 0x2723: "N", 0x2724: "Pa", 0x2725: "J", 0x2726: "W", 0x2727: "C",
        0x2728: "V", 0x2729: "F", 0x272A: "Ω", 0x272B: "S", 0x272C: "Wb", 0x272D: "T", 0x272E: "H", 0x272F: "°C",
        0x2730: "lm", 0x2731: "lx", 0x2732: "Bq", 0x2733: "Gy", 0x2734: "Sv", 0x2735: "kat",
        0x2760: "min", 0x2761: "h", 0x2762: "d", 0x2763: "°", 0x2764: "′", 0x2765: "″", 0x2766: "ha", 0x2767: "L",
        0x2768: "t", 0x2780: "bar", 0x2781: "mmHg", 0x2782: "Å", 0x2785: "kn",
        0x27A2: "in", 0x27A3: "ft", 0x27A5: "psi", 0x27A7: "mph", 0x27A8: "rpm", 0x27A9: "cal", 0x27AA: "kcal",
        0x27AB: "kWh", 0x27AC: "°F", 0x27AD: "%", 0x27AE: "‰", 0x27AF: "beats/min", 0x27B0: "Ah", 0x27B8: "lb",
        0x27B9: "MET", 0x27BA: "steps/min", 0x27BC: "strokes/min", 0x27BE: "lm/W", 0x27BF: "lm·h", 0x27C0: "lx·h",
        0x27C3: "dB", 0x27C4: "ppm", 0x27C5: "ppb", 0x27C7: "kVAh", 0x27C8: "VA",
    ]
}
