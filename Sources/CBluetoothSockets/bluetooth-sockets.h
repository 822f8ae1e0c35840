// Declarations that Swift's Glibc module does not show: the kernel's Bluetooth socket interface (layouts and constants
// of libbluetooth-dev's headers; nothing of it is linked) and Linux' own readiness calls.
#pragma once

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
