// Declarations that Swift's Glibc module does not show, of what a program needs to write to a terminal.
#pragma once

#include <stdio.h>
#include <wchar.h>

// glibc declares this only to programs that define _XOPEN_SOURCE.
extern int wcwidth(wchar_t character);

// Swift does not let several threads share the variable.
static inline FILE *terminal_standard_output(void)
{
    return stdout;
}
