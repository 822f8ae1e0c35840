/// What turns bytes or text from outside into values.
let decoders = packetDecoders + advertisementDecoders + captureDecoders + valueDecoders + fileDecoders + textDecoders
