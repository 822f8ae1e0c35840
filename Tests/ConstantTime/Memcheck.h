#include <stddef.h>
#include <valgrind/memcheck.h>

/// Has memcheck report every branch and every address that depends on these bytes from now on.
static inline void markSecret(const void *bytes, size_t count) { VALGRIND_MAKE_MEM_UNDEFINED(bytes, count); }

/// Ends that, for what everybody may know.
static inline void markPublic(const void *bytes, size_t count) { VALGRIND_MAKE_MEM_DEFINED(bytes, count); }

/// Whether the program runs under valgrind.
static inline int isWatched(void) { return RUNNING_ON_VALGRIND != 0; }

/// How many errors memcheck has found so far.
static inline unsigned long errorCount(void) { return VALGRIND_COUNT_ERRORS; }
