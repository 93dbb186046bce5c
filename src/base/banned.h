/* SPDX-License-Identifier: MIT */
/* banned.h - calls that do not compile here.  Included by every .c through
 * base/check.h, after the system's headers have declared them. */
#ifndef RONDO_BASE_BANNED_H
#define RONDO_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef alloca /* a macro in glibc; poisoning one is a warning */
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets alloca

#endif
