/* SPDX-License-Identifier: MIT */
/* test.h - cmocka and the headers that it wants in front of it. */
#ifndef RONDO_BASE_TEST_H
#define RONDO_BASE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
