/// Feeds every input in every state that a state machine reaches, and returns the states with the shortest sequence of
/// inputs that leads to each.
///
/// - Parameters:
///   - depth: the maximum number of inputs that lead to a state.
///   - limit: the maximum number of states; more indicate a machine that counts without bound.
///   - inputs: the possible inputs of a state.
///   - step: performs an input, and checks the invariants.
package func explore<State: Hashable, Input>(
    from first: State, depth: Int = .max, limit: Int = 200_000, inputs: (State) -> [Input],
    step: (inout State, Input, _ path: [Input]) throws -> Void
) throws -> [(state: State, path: [Input])] {
    var known: Set<State> = [first]
    var reached: [(state: State, path: [Input])] = [(first, [])]
    var position = 0
    while position < reached.count {
        let (state, path) = reached[position]
        position += 1
        for input in inputs(state) {
            var next = state
            try step(&next, input, path)
            guard path.count < depth, known.insert(next).inserted else { continue }
            guard known.count <= limit else { throw ExplorationError.tooManyStates(after: "\(path)") }
            reached.append((next, path + [input]))
        }
    }
    return reached
}

/// A state machine has more states than expected.
package enum ExplorationError: Error {
    case tooManyStates(after: String)
}
