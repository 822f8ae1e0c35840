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

// Enumerations in glibc's headers, numbers in musl's.
static const int kernel_raw_socket = SOCK_RAW;
static const int kernel_packet_socket = SOCK_SEQPACKET;
static const int kernel_datagram_socket = SOCK_DGRAM;
static const int kernel_socket_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
static const uint32_t kernel_input_event = EPOLLIN;
static const uint32_t kernel_output_event = EPOLLOUT;
static const uint32_t kernel_end_events = EPOLLERR | EPOLLHUP;
static const uint32_t kernel_edge_triggered = EPOLLET;

// A thread's identity is a number in glibc and a pointer in musl.
static inline uintptr_t kernel_current_thread(void)
{
    return (uintptr_t)pthread_self();
}

// Starts a thread that nobody joins; returns an error number or 0.
static inline int kernel_start_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    int error = pthread_create(&thread, (void *)0, body, argument);
    return error ? error : pthread_detach(thread);
}

// glibc has epoll_pwait2 only since 2.35, and Swift cannot call the variadic syscall().
static inline int kernel_epoll_pwait2(int epoll, struct epoll_event *events, int count, const struct kernel_time *timeout)
{
    return (int)syscall(SYS_epoll_pwait2, epoll, events, count, timeout, (void *)0, (size_t)0);
}

static const unsigned int kernel_rename_noreplace = 1;
static const unsigned int kernel_rename_exchange = 2;

// Older versions of musl lack renameat2.
static inline int kernel_renameat2(int folder, const char *path, int other_folder, const char *other, unsigned int flags)
{
    return (int)syscall(SYS_renameat2, folder, path, other_folder, other, flags);
}

// glibc declares these only to programs that define _GNU_SOURCE.
extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
