// Declarations for terminal output that Swift's Glibc module lacks.
#pragma once

#include <signal.h>
#include <stdio.h>
#include <wchar.h>

// glibc declares this only with _XOPEN_SOURCE.
extern int wcwidth(wchar_t character);

// Swift cannot compare handlers.
static inline int terminal_ignores_signal(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Swift rejects the global variable as shared mutable state.
static inline FILE *terminal_standard_output(void)
{
    return stdout;
}
