let all: [FuzzTarget] = decoders + stateMachines
