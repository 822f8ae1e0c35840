// Lists the places of Swift files that a mutant can change, a JSON object a line. `run` compiles this with the parser that the
// toolchain contains.
//
//   candidates FILE...
//
// Omitted are places whose mutants no test can or need see: texts, logging, what only saves time, patterns, types, declarations'
// attributes, the raw values of enumerations, which must be literals, and code under #if.

import Glibc
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// A place and its change. An expression gets another one, a statement is skipped.
struct Candidate {
    let original: Syntax
    /// The expression instead; nil to skip the statement.
    let mutated: String?
    let change: String
}

/// The operators that have a near relative.
private let relatives = [
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "&+": "&-",
    "&-": "&+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&<<": "&>>", "&>>": "&<<", "&": "|", "|": "&",
    "^": "|",
    "===": "!==", "!==": "===",
]

/// The functions that change no result, or are not called in a release build.
private let omittedCalls: Set = [
    "reserveCapacity", "assert", "assertionFailure", "fatalError", "preconditionFailure", "print",
]

final class Finder: SyntaxVisitor {
    private(set) var candidates: [Candidate] = []
    /// The constants so far that are declared without a value.
    private var assigned: Set<String> = []

    init() {
        super.init(viewMode: .sourceAccurate)
    }

    private func add(_ node: some SyntaxProtocol, _ mutated: String?, _ change: String) {
        candidates.append(Candidate(original: Syntax(node), mutated: mutated, change: change))
    }

    // MARK: What is omitted

    override func visit(_: IfConfigDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: ExpressionPatternSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: AttributeListSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: EnumCaseElementSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: GenericArgumentClauseSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_: AvailabilityConditionSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

    override func visit(_ node: LabeledExprSyntax) -> SyntaxVisitorContinueKind {
        node.label?.text == "keepingCapacity" ? .skipChildren : .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        isOmitted(node) ? .skipChildren : .visitChildren
    }

    private func isOmitted(_ call: FunctionCallExprSyntax) -> Bool {
        if let member = call.calledExpression.as(MemberAccessExprSyntax.self) {
            let base = member.base?.trimmedDescription ?? ""
            return omittedCalls.contains(member.declName.baseName.text) || base.lowercased().hasSuffix("log")
                || base.lowercased().hasSuffix("logger")
        }
        return omittedCalls.contains(call.calledExpression.trimmedDescription)
    }

    // MARK: Expressions

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        guard let symbol = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text, let other = relatives[symbol]
        else {
            return .visitChildren
        }
        // Texts and lists have no minus.
        if ["+", "-"].contains(symbol), [node.leftOperand, node.rightOperand].contains(where: isTextOrList) {
            return .visitChildren
        }
        add(
            node,
            "\(operand(node.leftOperand))\(node.operator.leadingTrivia)\(other)\(node.operator.trailingTrivia)"
                + operand(node.rightOperand),
            "\(symbol) → \(other)")
        return .visitChildren
    }

    /// It keeps its parts together beside another operator.
    private func operand(_ node: ExprSyntax) -> String {
        let text =
            "\(node.leadingTrivia)\(node.is(InfixOperatorExprSyntax.self) ? "(\(node.trimmed))" : "\(node.trimmed)")"
        return text + node.trailingTrivia.description
    }

    private func isTextOrList(_ node: ExprSyntax) -> Bool {
        if node.is(StringLiteralExprSyntax.self) || node.is(ArrayExprSyntax.self) { return true }
        return node.as(InfixOperatorExprSyntax.self).map {
            isTextOrList($0.leftOperand) || isTextOrList($0.rightOperand)
        } ?? false
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        let text = node.literal.text.filter { $0 != "_" }
        let value =
            text.hasPrefix("0x")
            ? UInt64(text.dropFirst(2), radix: 16)
            : text.hasPrefix("0b") ? UInt64(text.dropFirst(2), radix: 2) : UInt64(text)
        guard let value, value < .max else { return .skipChildren }
        // The largest value of a type has no successor in it.
        let other = value > 2 && value & (value + 1) == 0 ? value - 1 : value + 1
        let shown = text.hasPrefix("0x") ? "0x" + String(other, radix: 16, uppercase: true) : String(other)
        add(node, shown, "\(node.literal.text) → \(shown)")
        return .skipChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        let other = node.literal.text == "true" ? "false" : "true"
        add(node, other, "\(node.literal.text) → \(other)")
        return .skipChildren
    }

    /// A condition that has no operator of its own is negated; that of a guard holds always.
    override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
        guard case .expression(let condition) = node.condition, !condition.is(BooleanLiteralExprSyntax.self) else {
            return .visitChildren
        }
        if node.parent?.parent?.is(GuardStmtSyntax.self) == true {
            add(condition, "true", "guard: true")
        } else if let prefix = condition.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "!" {
            add(condition, prefix.expression.trimmedDescription, "without !")
        } else if !condition.is(InfixOperatorExprSyntax.self) {
            add(condition, "!(\(condition.trimmed))", "!")
        }
        return .visitChildren
    }

    // MARK: Statements

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        guard case .expr(var expression) = node.item else { return .visitChildren }
        while true {
            if let tried = expression.as(TryExprSyntax.self) {
                expression = tried.expression
            } else if let awaited = expression.as(AwaitExprSyntax.self) {
                expression = awaited.expression
            } else {
                break
            }
        }
        if let call = expression.as(FunctionCallExprSyntax.self) {
            let called = call.calledExpression.trimmedDescription
            guard !isOmitted(call), !isResult(node), !called.hasSuffix(".init") else { return .visitChildren }
            add(node.item, nil, "without the call")
        } else if let infix = expression.as(InfixOperatorExprSyntax.self) {
            let symbol = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text ?? ""
            guard infix.operator.is(AssignmentExprSyntax.self) || (symbol.hasSuffix("=") && relatives[symbol] == nil),
                !infix.leftOperand.is(DiscardAssignmentExprSyntax.self), !isInInitializer(node),
                !isOnly(assignmentTo: infix.leftOperand)
            else { return .visitChildren }
            add(node.item, nil, "without the assignment")
        }
        return .visitChildren
    }

    /// Whether a constant has no other value: it is declared without one.
    private func isOnly(assignmentTo place: ExprSyntax) -> Bool {
        let names =
            place.as(TupleExprSyntax.self)?.elements.map(\.expression.trimmedDescription) ?? [place.trimmedDescription]
        return !assigned.isDisjoint(with: names)
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        guard node.bindingSpecifier.text == "let" else { return .visitChildren }
        for binding in node.bindings where binding.initializer == nil {
            if let names = binding.pattern.as(TuplePatternSyntax.self) {
                assigned.formUnion(names.elements.map(\.pattern.trimmedDescription))
            } else {
                assigned.insert(binding.pattern.trimmedDescription)
            }
        }
        return .visitChildren
    }

    /// Whether the only statement of a body is its result.
    private func isResult(_ node: CodeBlockItemSyntax) -> Bool {
        guard let list = node.parent?.as(CodeBlockItemListSyntax.self), list.count == 1, let body = list.parent else {
            return false
        }
        if body.is(SwitchCaseSyntax.self) || body.parent?.is(IfExprSyntax.self) == true {
            var parent = body.parent
            while let place = parent, !place.is(CodeBlockItemSyntax.self), !place.is(FunctionDeclSyntax.self) {
                if place.is(VariableDeclSyntax.self) || place.is(ReturnStmtSyntax.self) { return true }
                parent = place.parent
            }
            return parent?.as(CodeBlockItemSyntax.self).map(isResult) ?? false
        }
        if body.is(ClosureExprSyntax.self) || body.is(AccessorBlockSyntax.self) { return true }
        if let function = body.parent?.as(FunctionDeclSyntax.self) { return function.signature.returnClause != nil }
        return body.parent?.as(AccessorDeclSyntax.self).map { $0.accessorSpecifier.text == "get" } ?? false
    }

    /// An initialiser's assignments are mostly the only ones.
    private func isInInitializer(_ node: CodeBlockItemSyntax) -> Bool {
        var parent = node.parent
        while let place = parent, !place.is(FunctionDeclSyntax.self), !place.is(ClosureExprSyntax.self) {
            if place.is(InitializerDeclSyntax.self) { return true }
            parent = place.parent
        }
        return false
    }
}

private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case "\n": result += "\\n"
        case "\t": result += "\\t"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

@main struct Main {
    static func main() throws {
        for path in CommandLine.arguments.dropFirst() {
            let parsed = Parser.parse(source: try text(of: path))
            let tree = OperatorTable.standardOperators.foldAll(parsed) { _ in }
            let finder = Finder()
            finder.walk(tree)
            for candidate in finder.candidates {
                let node = candidate.original
                let start = node.positionAfterSkippingLeadingTrivia.utf8Offset
                let end = node.endPositionBeforeTrailingTrivia.utf8Offset
                print(
                    "{\"file\": \(quoted(path)), \"start\": \(start), \"end\": \(end), \"change\": \(quoted(candidate.change)), "
                        + "\"mutated\": \(candidate.mutated.map(quoted) ?? "null")}")
            }
        }
    }

    /// Without Foundation, which takes long to load.
    private static func text(of path: String) throws -> String {
        guard let file = fopen(path, "r") else { throw MissingFile(path: path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

struct MissingFile: Error {
    let path: String
}
