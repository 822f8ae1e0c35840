import Dispatch
import Glibc
import Testing

/// The output and exit status of a program of this package.
struct Ended: Sendable {
    var status: Int32
    var output: String
    var messages: String

    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

/// Runs one of this package's programs, built together with the tests.
///
/// - Parameters:
///   - signal: the signal to send once it has printed something: `INT`, `TERM`.
///   - word: the text to await in its output before the signal.
///   - environment: variables in addition to those of the tests.
///   - answers: what a user at a terminal types after each question.
func run(
    _ program: String, _ arguments: [String], input: String = "", signal: String? = nil, after word: String = "",
    environment: [(String, String)] = [],
    answers: [(question: String, answer: String)] = []
) async throws -> Ended {
    var template = Array("/tmp/programXXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    defer {
        for name in ["in", "out", "err", "script"] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }
    let file = try #require(fopen("\(folder)/in", "w"))
    fputs(input, file)
    fclose(file)
    // Answers come from a terminal.
    var ends: (keyboard: Int32, terminal: Int32) = (-1, -1)
    var terminal = [CChar](repeating: 0, count: 64)
    if !answers.isEmpty { try #require(openpty(&ends.keyboard, &ends.terminal, &terminal, nil, nil) == 0) }
    defer { if !answers.isEmpty { for end in [ends.keyboard, ends.terminal] { close(end) } } }
    let source =
        answers.isEmpty
        ? "\(folder)/in" : String(decoding: terminal.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let variables = environment.map { "\($0)='\($1)' " }.joined()
    let words = variables + (["\(builtFolder)/\(program)"] + arguments).map { "'\($0)'" }.joined(separator: " ")
    var line = "\(words) <\(source) >\(folder)/out 2>\(folder)/err"
    if let signal {
        line +=
            " & while kill -0 $! && ! grep -qs '\(word)' \(folder)/out; do sleep 0.05; done; kill -\(signal) $!; wait $!"
    }
    if !answers.isEmpty { line += " & " }
    for (question, answer) in answers {
        line +=
            "while kill -0 $! && ! grep -qs '\(question)' \(folder)/err; do sleep 0.05; done; echo '\(answer)' >&\(ends.keyboard); "
    }
    if !answers.isEmpty {
        line += "wait $!"
        // Other shells do not support descriptors above 9.
        let script = try #require(fopen("\(folder)/script", "w"))
        fputs(line, script)
        fclose(script)
        line = "bash '\(folder)/script'"
    }
    let status = await shell(line)
    return Ended(status: status, output: contents(of: "\(folder)/out"), messages: contents(of: "\(folder)/err"))
}

/// Runs shell commands and returns their exit status.
func shell(_ script: String) async -> Int32 {
    // Waiting blocks its thread. A queue of its own has one to spare, while the global queues share theirs with all
    // tasks.
    let status = await withCheckedContinuation { continuation in
        DispatchQueue(label: "shell").async { continuation.resume(returning: system(script)) }
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
}

/// Runs `body` with a new folder, and removes the folder with its contents.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    var template = Array("/tmp/programXXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    do {
        let result = try await body(folder)
        _ = await shell("rm -r \(folder)")
        return result
    } catch {
        _ = await shell("rm -r \(folder)")
        throw error
    }
}

/// Runs a shell line with our programs in its `PATH` and a new folder in `$FOLDER`.
func inShell(_ line: String) async throws -> Ended {
    try await withFolder { folder in
        let status = await shell(
            "(PATH='\(builtFolder)':$PATH; FOLDER=\(folder); \(line)) >\(folder)/out 2>\(folder)/err")
        return Ended(status: status, output: contents(of: "\(folder)/out"), messages: contents(of: "\(folder)/err"))
    }
}

/// The folder of the built programs.
let builtFolder: String = {
    var path = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &path, path.count - 1)
    let bytes = path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }
    return String(decoding: bytes[..<(bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self)
}()

/// The contents of a file; empty if it does not exist.
func contents(of path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var all: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&block, 1, block.count, file), count > 0 { all += block[..<count] }
    return String(decoding: all, as: UTF8.self)
}

extension String {
    /// The text with `TIME` for each time of day.
    var timeless: String {
        replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, with: "TIME")
    }
}
