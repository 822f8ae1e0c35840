// C functions of the benchmarks: a counting allocator, pinning to one core, and calls that Swift's Glibc module
// lacks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// The calls of malloc, calloc, realloc and their relatives by all threads while counting.
typedef struct {
    uint64_t count;
    // Usable bytes allocated less those freed.
    int64_t bytes;
} benchmark_allocations;

// Starts counting from zero. Otherwise an allocation costs one more predicted branch.
void benchmark_start_counting(void);
// Stops counting.
benchmark_allocations benchmark_stop_counting(void);

// Pins this thread, and the threads it creates from now on, to one core. Returns 0 or errno.
int benchmark_pin(int core);

typedef struct {
    int64_t nanoseconds;
    // The number of voluntary context switches.
    int64_t voluntary_switches;
} benchmark_usage;

// The usage of this process's threads named `name`, without waking them.
benchmark_usage benchmark_usage_of_threads(const char *name);

// Consumes a value opaquely for the compiler.
void benchmark_consume(uint64_t value);

// Starts a process that sends packets, `number` of `length` bytes in turn, when it is ordered to. An order is a packet of
// two 64-bit integers: the number of packets, and the nanoseconds between them. Returns this process's end of a pair of
// sockets, which does not block, or -1 with errno. The process ends with the socket.
int benchmark_start_injector(const uint8_t *packets, size_t length, size_t number);
