#include "benchmark-support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The program's malloc replaces glibc's for every library in the process; glibc's is available by these names.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static atomic_bool is_counting;
static atomic_uint_fast64_t allocation_count;
static atomic_int_fast64_t allocated_bytes;

static inline bool counts(void)
{
    return __builtin_expect(atomic_load_explicit(&is_counting, memory_order_relaxed), false);
}

static void *count(void *block)
{
    atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&allocated_bytes, (int64_t)malloc_usable_size(block), memory_order_relaxed);
    return block;
}

static void forget(void *block)
{
    atomic_fetch_sub_explicit(&allocated_bytes, (int64_t)malloc_usable_size(block), memory_order_relaxed);
}

void *malloc(size_t size)
{
    void *block = __libc_malloc(size);
    return counts() ? count(block) : block;
}

void *calloc(size_t number, size_t size)
{
    void *block = __libc_calloc(number, size);
    return counts() ? count(block) : block;
}

void *realloc(void *old, size_t size)
{
    bool counting = counts();
    if (counting) forget(old);
    void *block = __libc_realloc(old, size);
    return counting ? count(block) : block;
}

void *memalign(size_t alignment, size_t size)
{
    void *block = __libc_memalign(alignment, size);
    return counts() ? count(block) : block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
    void *result = memalign(alignment, size);
    if (!result) return ENOMEM;
    *block = result;
    return 0;
}

void free(void *block)
{
    if (counts()) forget(block);
    __libc_free(block);
}

void benchmark_start_counting(void)
{
    atomic_store(&allocation_count, 0);
    atomic_store(&allocated_bytes, 0);
    atomic_store(&is_counting, true);
}

benchmark_allocations benchmark_stop_counting(void)
{
    atomic_store(&is_counting, false);
    benchmark_allocations result = {atomic_load(&allocation_count), atomic_load(&allocated_bytes)};
    return result;
}

int benchmark_pin(int core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    return sched_setaffinity(0, sizeof cores, &cores) == 0 ? 0 : errno;
}

void benchmark_consume(uint64_t value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

// The rest of the first line with `prefix` in a file of a thread in /proc.
static bool read_line(const char *thread, const char *file, const char *prefix, char *line, int size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.16s/%s", thread, file);
    FILE *stream = fopen(path, "r");
    if (!stream) return false;
    bool is_found = false;
    while (!is_found && fgets(line, size, stream)) is_found = strncmp(line, prefix, strlen(prefix)) == 0;
    fclose(stream);
    if (!is_found) return false;
    line[strcspn(line, "\n")] = 0;
    memmove(line, line + strlen(prefix), strlen(line) + 1 - strlen(prefix));
    return true;
}

benchmark_usage benchmark_usage_of_threads(const char *name)
{
    benchmark_usage sum = {0, 0};
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *thread; threads && (thread = readdir(threads));) {
        char line[256];
        if (!read_line(thread->d_name, "comm", "", line, sizeof line) || strcmp(line, name)) continue;
        if (read_line(thread->d_name, "schedstat", "", line, sizeof line)) sum.nanoseconds += atoll(line);
        if (read_line(thread->d_name, "status", "voluntary_ctxt_switches:", line, sizeof line))
            sum.voluntary_switches += atoll(line);
    }
    if (threads) closedir(threads);
    return sum;
}

static void inject(int socket, const uint8_t *packets, size_t length, size_t number)
{
    prctl(PR_SET_TIMERSLACK, 1);
    size_t next = 0;
    for (int64_t order[2]; recv(socket, order, sizeof order, 0) == sizeof order;) {
        struct timespec due;
        clock_gettime(CLOCK_MONOTONIC, &due);
        for (int64_t count = 0; count < order[0]; count++) {
            due.tv_nsec += order[1];
            if (due.tv_nsec >= 1000000000) {
                due.tv_nsec -= 1000000000;
                due.tv_sec++;
            }
            if (order[1]) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
            if (send(socket, packets + next * length, length, MSG_NOSIGNAL) < 0) return;
            next = (next + 1) % number;
        }
    }
}

int benchmark_start_injector(const uint8_t *packets, size_t length, size_t number)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0) return -1;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        inject(ends[1], packets, length, number);
        _exit(0);
    }
    close(ends[1]);
    if (child > 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return ends[0];
    close(ends[0]);
    return -1;
}
