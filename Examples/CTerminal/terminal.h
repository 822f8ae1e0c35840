// Declarations for terminal output that Swift's Glibc module lacks.
#pragma once

#include <stdio.h>
#include <wchar.h>

// glibc declares this only with _XOPEN_SOURCE.
extern int wcwidth(wchar_t character);

// Swift rejects the global variable as shared mutable state.
static inline FILE *terminal_standard_output(void)
{
    return stdout;
}
