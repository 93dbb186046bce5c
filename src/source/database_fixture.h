/* SPDX-License-Identifier: MIT */
/*
 * database_fixture.h - for the tests of sources: a private PostgreSQL or MariaDB.
 *
 * It lives in a new directory below $TMPDIR, listens on a port of 127.0.0.1 that the
 * kernel chose, keeps it when it is started again, runs as nobody where the test runs
 * as root, and ends with the test at the latest.  Call all of it from the main
 * thread, before it has others or while they are known to hold no lock that a child
 * could want: each child only execs.
 */
#ifndef RONDO_SOURCE_DATABASE_FIXTURE_H
#define RONDO_SOURCE_DATABASE_FIXTURE_H

#include "base/check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct database {
    bool is_postgres;
    char bin[256]; /* directory of the server's programs, with a slash; "" is $PATH */
    char dir[128];
    unsigned port;
    pid_t pid; /* 0: not running */
};

enum { DATABASE_ARGS = 32, DATABASE_SKIPPED = 77 };

/* ---------------------------------------------------------------- children --- */

/* Starts a program as the user that the server runs as, its output in dir/log. */
static inline pid_t database_spawn(const struct database *db, const char *const *args) {
    const char *argv[DATABASE_ARGS + 8] = {"setpriv", "--pdeathsig=KILL"};
    size_t n = 2;
    char log[160], program[320];
    if (geteuid() == 0) {
        argv[n++] = "--reuid=nobody";
        argv[n++] = "--regid=nogroup";
        argv[n++] = "--clear-groups";
    }
    snprintf(program, sizeof program, "%s%s", db->bin, args[0]);
    argv[n++] = program;
    for (size_t i = 1; args[i]; i++) argv[n++] = args[i];
    argv[n] = NULL;
    snprintf(log, sizeof log, "%s/log", db->dir);
    pid_t pid = fork();
    RONDO_CHECK(pid >= 0);
    if (pid) return pid;
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (chdir(db->dir) != 0) _exit(126);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* The exit code, -1 if a signal ended it. */
static inline int database_run(const struct database *db, const char *const *args) {
    int status;
    RONDO_CHECK(waitpid(database_spawn(db, args), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void database_pause(void) {
    struct timespec t = {0, 20 * 1000 * 1000};
    nanosleep(&t, NULL);
}

/* ------------------------------------------------------------------ finding --- */

static inline bool database_in_path(const char *program) {
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return system(command) == 0;
}

static inline bool database_find(struct database *db) {
    glob_t found;
    if (!database_in_path("setpriv")) return false;
    if (!db->is_postgres)
        return database_in_path("mariadbd") && database_in_path("mariadb-install-db") &&
               database_in_path("my_print_defaults") && database_in_path("mariadb-admin");
    bool is_there = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0;
    if (is_there) {
        const char *path = found.gl_pathv[found.gl_pathc - 1];
        snprintf(db->bin, sizeof db->bin, "%.*s", (int)(strlen(path) - strlen("initdb")), path);
    }
    globfree(&found);
    return is_there || database_in_path("initdb");
}

static inline unsigned database_free_port(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    RONDO_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0);
    RONDO_CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
    close(fd);
    return ntohs(a.sin_port);
}

/* ------------------------------------------------------------ start and stop --- */

static inline bool database_answers(const struct database *db) {
    char port[16];
    snprintf(port, sizeof port, "%u", db->port);
    const char *const pg[] = {"pg_isready", "-q", "-h", "127.0.0.1", "-p", port, NULL};
    const char *const my[] = {
        "mariadb-admin", "--no-defaults",       "-uroot", "-h", "127.0.0.1", "-P", port,
        "--silent",      "--connect-timeout=1", "ping",   NULL};
    return database_run(db, db->is_postgres ? pg : my) == 0;
}

/* Without waiting for it to be ready. */
static inline void database_launch(struct database *db) {
    char port[32], data[160], sock[160], dir[160];
    snprintf(data, sizeof data, db->is_postgres ? "%s/data" : "--datadir=%s/data", db->dir);
    snprintf(port, sizeof port, db->is_postgres ? "%u" : "--port=%u", db->port);
    snprintf(sock, sizeof sock, "--socket=%s/socket", db->dir);
    snprintf(dir, sizeof dir, "--pid-file=%s/pid", db->dir);
    const char *const pg[] = {"postgres",
                              "-D",
                              data,
                              "-p",
                              port,
                              "-k",
                              db->dir,
                              "-c",
                              "listen_addresses=127.0.0.1",
                              "-c",
                              "fsync=off",
                              "-c",
                              "shared_buffers=16MB",
                              "-c",
                              "max_connections=40",
                              NULL};
    const char *const my[] = {"mariadbd",
                              "--no-defaults",
                              data,
                              sock,
                              dir,
                              port,
                              "--skip-networking=0",
                              "--bind-address=127.0.0.1",
                              "--innodb-flush-log-at-trx-commit=0",
                              "--innodb-buffer-pool-size=16M",
                              "--skip-log-bin",
                              NULL};
    db->pid = database_spawn(db, db->is_postgres ? pg : my);
}

/* Starts it and waits until it answers.  One that was killed may leave children that
 * hold its memory for a moment: then it is started again. */
static inline void database_start(struct database *db) {
    int status;
    database_launch(db);
    for (unsigned n = 0; !database_answers(db); n++) {
        RONDO_CHECK(n < 3000);
        if (waitpid(db->pid, &status, WNOHANG) == db->pid) database_launch(db);
        database_pause();
    }
}

static inline void database_end(struct database *db, int sig) {
    int status;
    if (db->pid == 0) return;
    kill(db->pid, sig);
    RONDO_CHECK(waitpid(db->pid, &status, 0) == db->pid);
    db->pid = 0;
}

static inline void database_kill(struct database *db) {
    database_end(db, SIGKILL);
}

/* --------------------------------------------------------- create and remove --- */

/* Only "postgres" without a password, everybody else with one. */
static inline void database_write_hba(const struct database *db) {
    char path[160];
    snprintf(path, sizeof path, "%s/data/pg_hba.conf", db->dir);
    FILE *f = fopen(path, "w");
    RONDO_CHECK(f != NULL);
    fputs("host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n", f);
    RONDO_CHECK(fclose(f) == 0);
}

static inline int database_unlink(const char *path, const struct stat *st, int flag,
                                  struct FTW *ftw) {
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline void database_remove(struct database *db) {
    database_end(db, db->is_postgres ? SIGQUIT : SIGKILL);
    nftw(db->dir, database_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* Creates it, not started; false where its programs are missing. */
static inline bool database_create(struct database *db, bool is_postgres) {
    char data[192];
    const char *tmp = getenv("TMPDIR");
    *db = (struct database){.is_postgres = is_postgres};
    if (!database_find(db)) return false;
    snprintf(db->dir, sizeof db->dir, "%.90s/rondo-db-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    RONDO_CHECK(mkdtemp(db->dir) != NULL);
    const struct passwd *nobody = getpwnam("nobody");
    if (geteuid() == 0 && nobody) RONDO_CHECK(chown(db->dir, nobody->pw_uid, nobody->pw_gid) == 0);
    db->port = database_free_port();
    snprintf(data, sizeof data, is_postgres ? "%s/data" : "--datadir=%s/data", db->dir);
    const char *const pg[] = {"initdb",           "-D", data,    "-U",
                              "postgres",         "-A", "trust", "--no-sync",
                              "--locale=C.UTF-8", "-E", "UTF8",  NULL};
    const char *const my[] = {"mariadb-install-db",
                              "--no-defaults",
                              data,
                              "--auth-root-authentication-method=normal",
                              "--skip-test-db",
                              "--skip-name-resolve",
                              NULL};
    RONDO_CHECK(database_run(db, is_postgres ? pg : my) == 0);
    if (is_postgres) database_write_hba(db);
    return true;
}

#endif
