// What the benchmarks need of C: an allocator that counts, one core to run on, and calls that Swift's Glibc module does
// not show.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Calls of malloc, calloc, realloc and their relatives while counting, by all threads.
typedef struct {
    uint64_t count;
    // Usable bytes handed out less those given back.
    int64_t bytes;
} benchmark_allocations;

// Begins to count from zero. While nobody counts, an allocation costs one predicted branch more than without.
void benchmark_start_counting(void);
// Ends counting.
benchmark_allocations benchmark_stop_counting(void);

// Keeps this thread, and those it makes from now on, on one core. Returns 0 or errno.
int benchmark_pin(int core);

typedef struct {
    int64_t nanoseconds;
    // How often it went to sleep by itself.
    int64_t voluntary_switches;
} benchmark_usage;

// What the threads of this process named `name` have used so far, without waking them up.
benchmark_usage benchmark_usage_of_threads(const char *name);

// Takes a value the compiler must not find out about.
void benchmark_consume(uint64_t value);
