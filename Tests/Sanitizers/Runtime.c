// Tells the thread sanitizer what it does not see of the Swift runtime, which is not built with it. Preloaded into programs that are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// As Swift calls a method: itself is in a register of its own.
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

void __tsan_acquire(void *);
void __tsan_release(void *);

SWIFT void lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock(SELF void *mutex) __asm__(UNLOCK);

static SWIFT void (*lockInRuntime)(uint32_t thread, SELF void *mutex);
static SWIFT void (*unlockInRuntime)(SELF void *mutex);

__attribute__((constructor)) static void find(void) {
    lockInRuntime = dlsym(RTLD_NEXT, LOCK);
    unlockInRuntime = dlsym(RTLD_NEXT, UNLOCK);
}

// Mutex: what waits for the lock of another thread, and what hands it over. The rest is compiled into the users.
SWIFT void lock(uint32_t thread, SELF void *mutex) {
    lockInRuntime(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT void unlock(SELF void *mutex) {
    __tsan_release(mutex);
    unlockInRuntime(mutex);
}
