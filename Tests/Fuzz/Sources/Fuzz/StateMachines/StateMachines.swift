let stateMachines: [FuzzTarget] = []
