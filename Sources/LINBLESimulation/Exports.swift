// A simulated module is a UART on a simulated radio.
@_exported import BluetoothSimulation
@_exported import LINBLE
