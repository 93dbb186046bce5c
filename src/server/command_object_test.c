/* SPDX-License-Identifier: MIT */
/* OBJECT, MEMORY and CONFIG SET, over a simulated runtime. */
#include "server/conn_fixture.h"

static struct test_server t;

static int setup(void **state) {
    (void)state;
    test_begin(&t, 1, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    test_end(&t);
    return 0;
}

static void expect(const char *says, const char *answers) {
    t.wire.out.len = 0;
    test_says(&t, says);
    test_readable(&t);
    test_settle(&t);
    assert_sent(&t, answers);
}

static void test_what_is_known_of_a_value(void **state) {
    (void)state;
    expect("MSET n 12 t text\nOBJECT ENCODING n\nOBJECT ENCODING t\nOBJECT IDLETIME t\n"
           "OBJECT REFCOUNT t\nMEMORY USAGE t\n",
           "+OK\n$3\nint\n$6\nembstr\n:0\n:1\n:53\n");
    expect("SET l 123456789012345678901234567890123456789012345678901234567890\n"
           "OBJECT ENCODING l\n",
           "+OK\n$3\nraw\n");
    expect("OBJECT ENCODING no\nOBJECT FREQ no\nMEMORY USAGE slow:1\n", "$-1\n$-1\n$-1\n");
    expect("MULTI\nSET m 1\nOBJECT ENCODING m\nMEMORY USAGE m\nDEL m\nOBJECT REFCOUNT m\nEXEC\n",
           "+OK\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n+QUEUED\n"
           "*5\n+OK\n$3\nint\n:50\n:1\n$-1\n");
    expect("MEMORY USAGE n SAMPLES x\nMEMORY USAGE n SAMPLES -1\nMEMORY USAGE n SAMPLES\n"
           "OBJECT WHAT n\n",
           "-ERR value is not an integer or out of range\n-ERR syntax error\n-ERR syntax error\n"
           "-ERR unknown subcommand 'WHAT'. Try OBJECT HELP.\n");
}

static void test_settings_that_can_change(void **state) {
    (void)state;
    expect("CONFIG SET timeout 30 maxclients 7\nCONFIG GET timeout\nCONFIG GET maxclients\n",
           "+OK\n*2\n$7\ntimeout\n$2\n30\n*2\n$10\nmaxclients\n$1\n7\n");
    assert_true(rondo_service_idle_ns(&t.service) == 30 * RONDO_SEC);
    assert_int_equal(rondo_clients_max(&t.service.clients), 7);
    /* one mistake, and nothing changes */
    expect("CONFIG SET timeout 1 maxclients x\nCONFIG SET timeout 1 nosuch 2\n"
           "CONFIG SET timeout 1 databases 2\nCONFIG SET timeout 1 maxclients 0\n"
           "CONFIG SET timeout 1 TIMEOUT 2\nCONFIG SET timeout 1 x\nCONFIG GET timeout\n",
           "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument couldn't "
           "be parsed into an integer\n"
           "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\n"
           "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set "
           "immutable config\n"
           "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument must be "
           "between 1 and 2147483647 inclusive\n"
           "-ERR CONFIG SET failed (possibly related to argument 'TIMEOUT') - duplicate parameter\n"
           "-ERR syntax error\n"
           "*2\n$7\ntimeout\n$2\n30\n");
    /* What cannot change may be set to what it is. */
    expect("CONFIG SET databases 16 appendonly no\n", "+OK\n");
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_known_of_a_value),
        TEST(test_settings_that_can_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
