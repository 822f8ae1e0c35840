/// What turns bytes or text from outside into values.
let decoders: [FuzzTarget] = []
