// A UART is opened on an adapter.
@_exported import BluetoothLE
