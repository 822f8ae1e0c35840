// Declarations that Swift's Glibc module lacks: the kernel's Bluetooth socket interface (layouts and constants of
// libbluetooth-dev's headers, without linking to it or using its inline functions) and Linux's readiness
// calls and auxiliary vector.
#pragma once

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Swift cannot import macros that compute.
static const unsigned long kernel_hci_get_device_list = HCIGETDEVLIST;
static const unsigned long kernel_hci_get_device_info = HCIGETDEVINFO;
static const unsigned long kernel_hci_get_connection_list = HCIGETCONNLIST;
static const unsigned long kernel_hci_device_up = HCIDEVUP;
static const unsigned long kernel_hci_device_down = HCIDEVDOWN;
static const unsigned long kernel_hci_device_reset = HCIDEVRESET;

// The kernel's 64-bit time, the same on every architecture.
struct kernel_time {
    int64_t seconds;
    int64_t nanoseconds;
};

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

// glibc has epoll_pwait2 only since 2.35, and Swift cannot call the variadic syscall().
static inline int kernel_epoll_pwait2(int epoll, struct epoll_event *events, int count, const struct kernel_time *timeout)
{
    return (int)syscall(SYS_epoll_pwait2, epoll, events, count, timeout, (void *)0, (size_t)0);
}

static const unsigned int kernel_rename_noreplace = 1;
static const unsigned int kernel_rename_exchange = 2;

// glibc declares these only to programs that define _GNU_SOURCE.
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int renameat2(int directory, const char *path, int other_directory, const char *other, unsigned int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
