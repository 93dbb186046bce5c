/* SPDX-License-Identifier: MIT */
/* A user's program: prints the version that it runs with. */
#include <rondo/rondo.h>
#include <stdio.h>

int main(void) {
    return printf("%s\n", rondo_version()) > 0 ? 0 : 1;
}
