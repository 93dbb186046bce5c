/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/sync.h"
#include <errno.h>
#include <sched.h>
#include <unistd.h>

static unsigned affinity_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return (unsigned)CPU_COUNT(&set);
    /* More processors than the set has bits. */
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

unsigned rondo_cpu_quota(const char *cpu_max) {
    char *end;
    errno = 0;
    unsigned long long quota = strtoull(cpu_max, &end, 10);
    if (end == cpu_max || errno != 0) return 0; /* "max ..." */
    const char *rest = end;
    unsigned long long period = strtoull(rest, &end, 10);
    if (end == rest || errno != 0 || period == 0 || quota == 0) return 0;
    unsigned long long n = quota / period + (quota % period != 0);
    return n > 1u << 20 ? 0 : (unsigned)n;
}

static bool read_line(const char *path, char *out, size_t size) {
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fgets(out, (int)size, f) != NULL;
    fclose(f);
    return ok;
}

/* The path of this process's cgroup in the one hierarchy of version 2 ("0::"
 * leads its line), without the newline. */
static bool find_cgroup(char *out, size_t size) {
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (!f) return false;
    bool found = false;
    char line[4096];
    while (!found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::/", 4) == 0 && snprintf(out, size, "%s", line + 3) < (int)size;
    }
    fclose(f);
    return found;
}

/* The tightest quota of the cgroup and of those above it; 0: none. */
static unsigned quota_count(void) {
    char group[4096], path[4096 + 64], line[64];
    unsigned least = 0;
    if (!find_cgroup(group, sizeof group)) return 0;
    for (;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        unsigned n = read_line(path, line, sizeof line) ? rondo_cpu_quota(line) : 0;
        if (n && (least == 0 || n < least)) least = n;
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

unsigned rondo_cpu_count(void) {
    unsigned allowed = affinity_count(), quota = quota_count();
    if (quota && quota < allowed) allowed = quota;
    return allowed ? allowed : 1;
}

unsigned rondo_thread_number(void) {
    return (unsigned)gettid();
}

bool rondo_schedstat_waited(const char *schedstat, uint64_t *out_ns) {
    char *end;
    errno = 0;
    (void)strtoull(schedstat, &end, 10);
    if (end == schedstat || errno != 0) return false;
    const char *rest = end;
    unsigned long long waited = strtoull(rest, &end, 10);
    if (end == rest || errno != 0) return false;
    *out_ns = waited;
    return true;
}

bool rondo_thread_waited(unsigned number, uint64_t *out_ns) {
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%u/schedstat", number);
    return read_line(path, line, sizeof line) && rondo_schedstat_waited(line, out_ns);
}
