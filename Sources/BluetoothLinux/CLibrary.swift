import BluetoothSystem

// C library functions whose names are also those of methods here, under other names.

func systemBind(_ number: CInt, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> CInt {
    bind(number, address, length)
}

func systemConnect(_ number: CInt, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> CInt {
    connect(number, address, length)
}

func systemListen(_ number: CInt, _ backlog: CInt) -> CInt { listen(number, backlog) }

func systemSend(_ number: CInt, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: CInt) -> Int {
    send(number, bytes, count, flags)
}

func systemPoll(_ descriptors: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ timeout: CInt) -> CInt {
    poll(descriptors, count, timeout)
}
