/* SPDX-License-Identifier: MIT */
#include "base/check.h"
#include "base/mem.h"
#include "proto/locale_fixture.h"
#include "proto/resp.h"
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char marks[] = "+-$=(,:#_*~>%|";

static void log_node(struct rondo_buf *log, const struct rondo_resp_node *n) {
    assert_int_equal(rondo_buf_append(log, &marks[n->type], 1), RONDO_OK);
    enum rondo_err err = RONDO_OK;
    if (n->type == RONDO_RESP_VERBATIM) err = rondo_buf_printf(log, "%.3s:", n->format);
    if (n->type == RONDO_RESP_DOUBLE)
        err = rondo_buf_printf(log, "%.17g", n->real);
    else if (n->type < RONDO_RESP_DOUBLE)
        err = rondo_buf_append(log, n->text.data, n->text.len);
    else if (n->type == RONDO_RESP_INT || n->type == RONDO_RESP_BOOL)
        err = rondo_buf_printf(log, "%" PRId64, n->integer);
    else if (n->type >= RONDO_RESP_ARRAY)
        err = rondo_buf_printf(log, "%" PRIu32, n->n_children);
    assert_int_equal(err, RONDO_OK);
    assert_int_equal(rondo_buf_append(log, " ", 1), RONDO_OK);
}

/* Children, counted by walking, fill exactly what their parent says. */
static void check_shape(const struct rondo_resp_node *nodes, size_t n_nodes) {
    for (size_t i = 0; i < n_nodes; i++) {
        const struct rondo_resp_node *child = rondo_resp_node_first(&nodes[i]);
        for (uint32_t c = 0; c < nodes[i].n_children; c++) child = rondo_resp_node_next(child);
        assert_ptr_equal(child, rondo_resp_node_next(&nodes[i]));
        assert_true(child <= nodes + n_nodes);
    }
}

static void log_reply(struct rondo_buf *log, const struct rondo_resp_reply *p) {
    assert_true(p->n_nodes > 0);
    assert_int_equal(p->nodes[0].n_nodes, p->n_nodes);
    check_shape(p->nodes, p->n_nodes);
    for (size_t i = 0; i < p->n_nodes; i++) log_node(log, &p->nodes[i]);
    assert_int_equal(rondo_buf_append(log, ";", 1), RONDO_OK);
}

/* Parses all of data[0..len), a block of exactly that size; returns what it left. */
static enum rondo_resp_status run(struct rondo_resp_reply *p, struct rondo_buf *log,
                                  const char *data, size_t len, size_t *pos) {
    enum rondo_resp_status st;
    do {
        size_t used = SIZE_MAX;
        st = rondo_resp_reply_parse(p, data + *pos, len - *pos, &used);
        assert_true(used <= len - *pos);
        *pos += used;
        if (st == RONDO_RESP_READY) log_reply(log, p);
    } while (st == RONDO_RESP_READY);
    return st;
}

static void check_cut(const char *in, size_t len, size_t cut, const char *out, size_t out_len,
                      const struct rondo_resp_limits *limits) {
    struct rondo_resp_reply p;
    struct rondo_buf log = {0};
    rondo_resp_reply_init(&p, limits);
    char *first = rondo_alloc(cut ? cut : 1), *all = rondo_alloc(len ? len : 1);
    assert_non_null(first);
    assert_non_null(all);
    memcpy(first, in, cut);
    memcpy(all, in, len);
    size_t pos = 0;
    enum rondo_resp_status st = run(&p, &log, first, cut, &pos);
    rondo_free(first);
    if (st == RONDO_RESP_MORE) st = run(&p, &log, all, len, &pos);
    if (st == RONDO_RESP_BAD)
        assert_int_equal(rondo_buf_printf(&log, "!%s", p.error), RONDO_OK);
    else if (pos < len)
        assert_int_equal(rondo_buf_append_str(&log, "..."), RONDO_OK);
    assert_int_equal(log.len, out_len);
    if (out_len) assert_memory_equal(log.data, out, out_len);
    rondo_resp_reply_fini(&p);
    rondo_buf_fini(&log);
    rondo_free(all);
}

struct example {
    const char *in;
    size_t in_len;
    const char *out;
    size_t out_len;
};
#define EXAMPLE(in, out)                                                                           \
    { in, sizeof(in) - 1, out, sizeof(out) - 1 }

static void check_examples(const struct example *e, size_t n,
                           const struct rondo_resp_limits *limits) {
    for (; n > 0; n--, e++)
        for (size_t cut = 0; cut <= e->in_len; cut++)
            check_cut(e->in, e->in_len, cut, e->out, e->out_len, limits);
}

static void scalars(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("", ""),
        EXAMPLE("+OK\r\n", "+OK ;"),
        EXAMPLE("+\r\n", "+ ;"),
        EXAMPLE("-ERR no\r\n", "-ERR no ;"),
        EXAMPLE("!7\r\nERR\r\n\0x\r\n", "-ERR\r\n\0x ;"),
        EXAMPLE("$3\r\na\r\n\r\n", "$a\r\n ;"),
        EXAMPLE("$0\r\n\r\n", "$ ;"),
        EXAMPLE("$-1\r\n*-1\r\n_\r\n", "_ ;_ ;_ ;"),
        EXAMPLE(":0\r\n:-5\r\n:+5\r\n", ":0 ;:-5 ;:5 ;"),
        EXAMPLE(":9223372036854775807\r\n:-9223372036854775808\r\n",
                ":9223372036854775807 ;:-9223372036854775808 ;"),
        EXAMPLE("#t\r\n#f\r\n", "#1 ;#0 ;"),
        EXAMPLE(",1.5\r\n,-3\r\n,1e3\r\n,.5\r\n,5.\r\n,+1.25E-2\r\n",
                ",1.5 ;,-3 ;,1000 ;,0.5 ;,5 ;,0.012500000000000001 ;"),
        EXAMPLE(",inf\r\n,-inf\r\n,+inf\r\n,nan\r\n", ",inf ;,-inf ;,inf ;,nan ;"),
        EXAMPLE("(-123456789012345678901234567890\r\n", "(-123456789012345678901234567890 ;"),
        EXAMPLE("=6\r\ntxt:hi\r\n=4\r\nmkd:\r\n", "=txt:hi ;=mkd: ;"),
        EXAMPLE("+a", "..."),
        EXAMPLE("+a\r", "..."),
        EXAMPLE("$3\r\nabc\r", "..."),
        EXAMPLE("+a\r\n$5\r\nab", "+a ;..."),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void aggregates(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("*0\r\n", "*0 ;"),
        EXAMPLE("%0\r\n~0\r\n>0\r\n", "%0 ;~0 ;>0 ;"),
        EXAMPLE("*2\r\n$1\r\na\r\n:1\r\n", "*2 $a :1 ;"),
        EXAMPLE("*2\r\n*2\r\n*0\r\n+a\r\n*1\r\n$-1\r\n+b\r\n", "*2 *2 *0 +a *1 _ ;+b ;"),
        EXAMPLE("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "%4 +a :1 +b *1 :2 ;"),
        EXAMPLE("~2\r\n:1\r\n:2\r\n", "~2 :1 :2 ;"),
        EXAMPLE(">2\r\n+message\r\n+x\r\n+OK\r\n", ">2 +message +x ;+OK ;"),
        EXAMPLE("|1\r\n+ttl\r\n:5\r\n$1\r\nv\r\n", "|3 +ttl :5 $v ;"),
        EXAMPLE("|0\r\n:1\r\n", "|1 :1 ;"),
        EXAMPLE("*2\r\n|1\r\n+a\r\n:1\r\n*1\r\n:2\r\n:3\r\n", "*2 |3 +a :1 *1 :2 :3 ;"),
        EXAMPLE("*2\r\n:1\r\n", "..."),
        EXAMPLE("|1\r\n+ttl\r\n:5\r\n", "..."),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void mistakes(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("x\r\n", "!Protocol error: unknown type of reply"),
        EXAMPLE("\0", "!Protocol error: unknown type of reply"),
        EXAMPLE("\r\n", "!Protocol error: unknown type of reply"),
        EXAMPLE("+a\rb", "!Protocol error: CR without LF"),
        EXAMPLE(":\r\n", "!Protocol error: invalid integer"),
        EXAMPLE(":-\r\n", "!Protocol error: invalid integer"),
        EXAMPLE(":1a\r\n", "!Protocol error: invalid integer"),
        EXAMPLE(":9223372036854775808\r\n", "!Protocol error: invalid integer"),
        EXAMPLE("#x\r\n", "!Protocol error: invalid boolean"),
        EXAMPLE("#\r\n", "!Protocol error: invalid boolean"),
        EXAMPLE("_x\r\n", "!Protocol error: invalid null"),
        EXAMPLE(",\r\n", "!Protocol error: invalid double"),
        EXAMPLE(",.\r\n", "!Protocol error: invalid double"),
        EXAMPLE(",1e\r\n", "!Protocol error: invalid double"),
        EXAMPLE(",0x1p3\r\n", "!Protocol error: invalid double"),
        EXAMPLE(", 1\r\n", "!Protocol error: invalid double"),
        EXAMPLE("(\r\n", "!Protocol error: invalid big number"),
        EXAMPLE("(1.5\r\n", "!Protocol error: invalid big number"),
        EXAMPLE("$-2\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("$?\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("!-1\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("$629145600\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("$1\r\nabc", "!Protocol error: a string does not end where it should"),
        EXAMPLE("$1\r\nab\n", "!Protocol error: a string does not end where it should"),
        EXAMPLE("$1\r\na\rb", "!Protocol error: a string does not end where it should"),
        EXAMPLE("=3\r\ntxt\r\n", "!Protocol error: invalid verbatim string"),
        EXAMPLE("=5\r\ntxt-a\r\n", "!Protocol error: invalid verbatim string"),
        EXAMPLE("*-2\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*?\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("%-1\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("~1048577\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*1\r\n+a\r\nx", "*1 +a ;!Protocol error: unknown type of reply"),
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void small_limits(void **state) {
    (void)state;
    static const struct example examples[] = {
        EXAMPLE("*3\r\n", "!Protocol error: invalid multibulk length"),
        EXAMPLE("*2\r\n:1\r\n:2\r\n", "*2 :1 :2 ;"),
        EXAMPLE("$5\r\nabcde\r\n", "!Protocol error: invalid bulk length"),
        EXAMPLE("$4\r\nabcd\r\n", "$abcd ;"),
        EXAMPLE("+2345678901234567890123456789012345678\r\n",
                "+2345678901234567890123456789012345678 ;"),
        EXAMPLE("+2345678901234567890123456789012345678901\r\n",
                "!Protocol error: too long a line"),
        EXAMPLE("+2345678901234567890123456789012345678901", "!Protocol error: too long a line"),
    };
    struct rondo_resp_limits limits = {2, 4, 40, false};
    check_examples(examples, RONDO_COUNT_OF(examples), &limits);
}

static void depth_is_bounded(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    for (int depth = RONDO_RESP_MAX_DEPTH; depth <= RONDO_RESP_MAX_DEPTH + 1; depth++) {
        struct rondo_buf buf = {0};
        struct rondo_resp_reply p;
        size_t used;
        rondo_resp_reply_init(&p, &limits);
        for (int i = 0; i < depth; i++)
            assert_int_equal(rondo_buf_append_str(&buf, i % 2 ? "*1\r\n" : "|0\r\n"), RONDO_OK);
        assert_int_equal(rondo_buf_append_str(&buf, ":7\r\n"), RONDO_OK);
        enum rondo_resp_status st = rondo_resp_reply_parse(&p, buf.data, buf.len, &used);
        if (depth <= RONDO_RESP_MAX_DEPTH) {
            assert_int_equal(st, RONDO_RESP_READY);
            assert_int_equal(p.n_nodes, depth + 1);
            check_shape(p.nodes, p.n_nodes);
        } else {
            assert_int_equal(st, RONDO_RESP_BAD);
            assert_string_equal(p.error, "Protocol error: nested too deep");
        }
        rondo_resp_reply_fini(&p);
        rondo_buf_fini(&buf);
    }
}

static void need_says_what_is_missing(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_reply p;
    size_t used;
    rondo_resp_reply_init(&p, &limits);
    assert_int_equal(rondo_resp_reply_parse(&p, "", 0, &used), RONDO_RESP_MORE);
    assert_int_equal(p.need, 1);
    assert_int_equal(rondo_resp_reply_parse(&p, "$1000\r\nab", 9, &used), RONDO_RESP_MORE);
    assert_int_equal(p.need, 1000);
    assert_int_equal(used, 0);
    rondo_resp_reply_fini(&p);
}

static void announced_elements_cost_nothing(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_reply p;
    size_t used;
    rondo_resp_reply_init(&p, &limits);
    assert_int_equal(rondo_resp_reply_parse(&p, "*1000000\r\n:1\r\n", 14, &used), RONDO_RESP_MORE);
    assert_true(p.cap_nodes < 100);
    rondo_resp_reply_fini(&p);
}

/* Reply after reply in the same nodes; many nodes are given back. */
static void nodes_are_reused_within_bounds(void **state) {
    (void)state;
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_reply p;
    struct rondo_buf buf = {0};
    size_t used;
    rondo_resp_reply_init(&p, &limits);
    assert_int_equal(rondo_resp_reply_parse(&p, "+OK\r\n", 5, &used), RONDO_RESP_READY);
    rondo_mem_fail_nth(1);
    assert_int_equal(rondo_resp_reply_parse(&p, "+OK\r\n", 5, &used), RONDO_RESP_READY);
    rondo_mem_fail_nth(0);
    struct rondo_resp_writer w = rondo_resp_writer_of(&buf, 3);
    rondo_resp_write_array(&w, 5000);
    for (int i = 0; i < 5000; i++) rondo_resp_write_int(&w, i);
    assert_int_equal(w.err, RONDO_OK);
    assert_int_equal(rondo_resp_reply_parse(&p, buf.data, buf.len, &used), RONDO_RESP_READY);
    assert_int_equal(used, buf.len);
    assert_int_equal(p.n_nodes, 5001);
    assert_int_equal(p.nodes[5000].integer, 4999);
    assert_int_equal(rondo_resp_reply_parse(&p, "+OK\r\n", 5, &used), RONDO_RESP_READY);
    assert_true(p.cap_nodes < 100);
    rondo_resp_reply_fini(&p);
    rondo_buf_fini(&buf);
}

static void out_of_memory_is_no_loss(void **state) {
    (void)state;
    static const char in[] = "*10\r\n:1\r\n*3\r\n:2\r\n$1\r\na\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n"
                             "$1\r\nb\r\n:9\r\n:10\r\n%1\r\n+k\r\n+v\r\n";
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    uint64_t nth = 0;
    bool has_failed = true;
    while (has_failed) {
        struct rondo_resp_reply p;
        size_t used;
        rondo_resp_reply_init(&p, &limits);
        rondo_mem_fail_nth(++nth);
        enum rondo_resp_status st = rondo_resp_reply_parse(&p, in, sizeof in - 1, &used);
        has_failed = st == RONDO_RESP_NOMEM;
        if (has_failed) {
            assert_int_equal(used, 0);
            st = rondo_resp_reply_parse(&p, in, sizeof in - 1, &used);
        }
        rondo_mem_fail_nth(0);
        assert_int_equal(st, RONDO_RESP_READY);
        assert_int_equal(used, sizeof in - 1);
        assert_int_equal(p.n_nodes, 16);
        check_shape(p.nodes, p.n_nodes);
        rondo_resp_reply_fini(&p);
    }
    assert_true(nth >= 3);
}

static void walking(void **state) {
    (void)state;
    static const char in[] = "|1\r\n+x\r\n:0\r\n%3\r\n$1\r\na\r\n:1\r\n*1\r\n:9\r\n:2\r\n+b\r\n"
                             "|0\r\n*2\r\n:3\r\n:4\r\n*2\r\n$5\r\nproto\r\n:3\r\n:5\r\n";
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_reply p;
    size_t used, pos;
    rondo_resp_reply_init(&p, &limits);
    assert_int_equal(rondo_resp_reply_parse(&p, in, sizeof in - 1, &used), RONDO_RESP_READY);
    pos = used;
    assert_int_equal(rondo_resp_node_plain(p.nodes)->type, RONDO_RESP_MAP);
    const struct rondo_resp_node *value = rondo_resp_node_lookup(p.nodes, "a");
    assert_non_null(value);
    assert_int_equal(value->integer, 1);
    value = rondo_resp_node_lookup(p.nodes, "b");
    assert_non_null(value);
    assert_int_equal(value->type, RONDO_RESP_ARRAY);
    assert_int_equal(rondo_resp_node_next(rondo_resp_node_first(value))->integer, 4);
    assert_null(rondo_resp_node_lookup(p.nodes, "c"));
    assert_int_equal(rondo_resp_reply_parse(&p, in + pos, sizeof in - 1 - pos, &used),
                     RONDO_RESP_READY);
    pos += used;
    value = rondo_resp_node_lookup(p.nodes, "proto");
    assert_non_null(value);
    assert_int_equal(value->integer, 3);
    assert_int_equal(rondo_resp_reply_parse(&p, in + pos, sizeof in - 1 - pos, &used),
                     RONDO_RESP_READY);
    assert_null(rondo_resp_node_lookup(p.nodes, "proto"));
    rondo_resp_reply_fini(&p);
}

/* What is parsed and written again, in RESP3 and in RESP2. */
static void writing_what_was_parsed(void **state) {
    (void)state;
    static const char *const examples[][3] = {
        {"+OK\r\n", "+OK\r\n", "+OK\r\n"},
        {"-ERR x\r\n", "-ERR x\r\n", "-ERR x\r\n"},
        {"!5\r\na\r\nbc\r\n", "!5\r\na\r\nbc\r\n", "-a  bc\r\n"},
        {"!1\r\na\r\n", "-a\r\n", "-a\r\n"},
        {"$-1\r\n", "_\r\n", "$-1\r\n"},
        {"%1\r\n+a\r\n#t\r\n", "%1\r\n+a\r\n#t\r\n", "*2\r\n+a\r\n:1\r\n"},
        {">1\r\n~1\r\n,1.50\r\n", ">1\r\n~1\r\n,1.5\r\n", "*1\r\n*1\r\n$3\r\n1.5\r\n"},
        {"=5\r\ntxt:a\r\n", "=5\r\ntxt:a\r\n", "$1\r\na\r\n"},
        {"(12\r\n", "(12\r\n", "$2\r\n12\r\n"},
        {"*2\r\n|1\r\n+k\r\n*1\r\n:1\r\n$1\r\nv\r\n:-2\r\n",
         "*2\r\n|1\r\n+k\r\n*1\r\n:1\r\n$1\r\nv\r\n:-2\r\n", "*2\r\n$1\r\nv\r\n:-2\r\n"},
    };
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    for (size_t i = 0; i < RONDO_COUNT_OF(examples); i++) {
        struct rondo_resp_reply p;
        struct rondo_buf buf = {0};
        size_t used;
        rondo_resp_reply_init(&p, &limits);
        assert_int_equal(rondo_resp_reply_parse(&p, examples[i][0], strlen(examples[i][0]), &used),
                         RONDO_RESP_READY);
        for (unsigned proto = 3; proto >= 2; proto--) {
            struct rondo_resp_writer w = rondo_resp_writer_of(&buf, proto);
            buf.len = 0;
            rondo_resp_write_node(&w, p.nodes);
            assert_int_equal(w.err, RONDO_OK);
            assert_string_equal(rondo_buf_cstr(&buf), examples[i][4 - proto]);
        }
        rondo_resp_reply_fini(&p);
        rondo_buf_fini(&buf);
    }
}

/* Skipped where no locale with a comma is installed. */
static void a_locale_of_the_host_changes_nothing(void **state) {
    (void)state;
    if (!rondo_set_comma_locale()) skip();
    struct rondo_resp_limits limits = rondo_resp_limits_default();
    struct rondo_resp_reply p;
    size_t used;
    rondo_resp_reply_init(&p, &limits);
    enum rondo_resp_status st = rondo_resp_reply_parse(&p, ",1.5e1\r\n", 8, &used);
    setlocale(LC_ALL, "C");
    assert_int_equal(st, RONDO_RESP_READY);
    assert_true(p.nodes[0].real >= 15 && p.nodes[0].real <= 15);
    rondo_resp_reply_fini(&p);
}

static void fini_of_zeroed_memory(void **state) {
    (void)state;
    struct rondo_resp_reply p = {0};
    rondo_resp_reply_fini(&p);
    assert_null(p.nodes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars),
        cmocka_unit_test(aggregates),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(small_limits),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(need_says_what_is_missing),
        cmocka_unit_test(announced_elements_cost_nothing),
        cmocka_unit_test(nodes_are_reused_within_bounds),
        cmocka_unit_test(out_of_memory_is_no_loss),
        cmocka_unit_test(walking),
        cmocka_unit_test(writing_what_was_parsed),
        cmocka_unit_test(a_locale_of_the_host_changes_nothing),
        cmocka_unit_test(fini_of_zeroed_memory),
    };
    return cmocka_run_group_tests_name("resp_reply", tests, NULL, NULL);
}
