/* SPDX-License-Identifier: MIT */
/*
 * What happens to a key in one load is decided first, for all keys of the call,
 * then the call waits once, then each key is announced and answered.  A key that
 * hangs holds back nobody but itself: the others are answered before.
 */
#include "source/scripted.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "rondo/runtime.h"
#include "source/quantity.h"
#include "source/script.h"
#include "source/settings.h"
#include "source/template.h"
#include <inttypes.h>

static const struct rondo_source_option options[] = {
    {"delay", RONDO_SETTING_DURATION, false, false,
     "how long each call takes; off (default): none"},
    {"value", RONDO_SETTING_TEMPLATE, false, false,
     "the answer, with the key's parameters, {count} (loads of this key) and {client}; default: "
     "the "
     "key"},
    {"answers", RONDO_SETTING_MAP, false, false,
     "answers by parameter (several: joined by \":\"); any other key is absent"},
    {"absent", RONDO_SETTING_TEXT, false, false,
     "when a key is absent: off, always, P%, every N, turn N, turns A..B, turns A.."},
    {"fail", RONDO_SETTING_TEXT, false, false, "when a load fails: as absent"},
    {"error", RONDO_SETTING_TEXT, false, false, "the text of a failure; default: scripted failure"},
    {"hang", RONDO_SETTING_TEXT, false, false,
     "when a load hangs, past every deadline, until the cache closes or 1h is over: as absent"},
    {"seed", RONDO_SETTING_COUNT, false, false, "of what happens by chance; default 1"},
    {"batch", RONDO_SETTING_COUNT, false, false, "keys in one call, 1 (default) to 1000"},
    {"ttl", RONDO_SETTING_DURATION, false, false,
     "the life that the source gives its values; off (default): none"},
    {"announce", RONDO_SETTING_TEMPLATE, false, false,
     "a line for standard output after each load, with the places of value"},
    {NULL, RONDO_SETTING_TEXT, false, false, NULL},
};

enum { MAX_PARAMS = 16, CLIENT = 0, COUNT = 1, MAX_BATCH = 1000 };
static const char *const words[] = {"client", "count"};
static const uint64_t hang_ns = 3600 * RONDO_SEC;

struct answer {
    char *name, *value;
};

struct scripted {
    size_t n_params;
    uint64_t delay_ns, ttl_ns, seed, batch;
    struct rondo_template *value, *announce; /* NULL: not given */
    struct answer *answers;                  /* NULL: not given */
    size_t n_answers;
    struct rondo_script_rule absent, fail, hang;
    char *error;
    bool counts; /* whether turns matter to anything */
    struct rondo_script_turns turns;
};

/* ----------------------------------------------------------- open, close --- */

static enum rondo_err open_template(const struct rondo_source_config *config, const char *name,
                                    struct rondo_template **out) {
    const char *text = rondo_settings_get(config, name);
    if (!text) return RONDO_OK;
    struct rondo_template_names names = {config->params, config->n_params, words,
                                         RONDO_COUNT_OF(words)};
    struct rondo_source_error why;
    enum rondo_err err = rondo_template_new(text, &names, &why, out);
    if (err == RONDO_ERR_CONFIG) rondo_settings_mistake(config, name, "%s", why.text);
    return err;
}

static enum rondo_err open_rule(const struct rondo_source_config *config, const char *name,
                                struct rondo_script_rule *rule) {
    const char *text = rondo_settings_get(config, name);
    const char *why = text ? rondo_script_parse(text, rule) : NULL;
    if (!why) return RONDO_OK;
    rondo_settings_mistake(config, name, "found \"%s\": %s", text, why);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err open_answers(const struct rondo_source_config *config, struct scripted *s) {
    static const char prefix[] = "answers.";
    size_t skip = sizeof prefix - 1;
    for (size_t i = 0; i < config->n_settings; i++) {
        const struct rondo_source_setting *from = &config->settings[i];
        if (strncmp(from->name, prefix, skip) != 0) continue;
        if (!s->answers) s->answers = rondo_zalloc(config->n_settings * sizeof *s->answers);
        if (!s->answers) return RONDO_ERR_NOMEM;
        struct answer *a = &s->answers[s->n_answers++];
        a->name = rondo_strdup(from->name + skip);
        a->value = rondo_strdup(from->value);
        if (!a->name || !a->value) return RONDO_ERR_NOMEM;
    }
    if (!s->answers || !rondo_settings_get(config, "value")) return RONDO_OK;
    rondo_settings_mistake(config, "value", "given beside `answers`: give one of them");
    return RONDO_ERR_CONFIG;
}

static bool is_random_or_turned(const struct rondo_script_rule *rule) {
    return rule->kind != RONDO_SCRIPT_OFF && !(rule->a == 1 && rule->b == UINT64_MAX);
}

static bool needs_turns(const struct scripted *s) {
    uint32_t count = UINT32_C(1) << (s->n_params + COUNT);
    return (s->value && (s->value->used & count)) || (s->announce && (s->announce->used & count)) ||
           is_random_or_turned(&s->absent) || is_random_or_turned(&s->fail) ||
           is_random_or_turned(&s->hang);
}

/* Reads everything, telling all mistakes; the first error is the result, but NOMEM
 * ends it at once. */
static enum rondo_err open_settings(const struct rondo_source_config *config, struct scripted *s) {
    const char *error = rondo_settings_get(config, "error");
    bool ok = rondo_settings_duration(config, "delay", &s->delay_ns);
    ok = rondo_settings_duration(config, "ttl", &s->ttl_ns) && ok;
    ok = rondo_settings_count(config, "seed", 0, INT64_MAX, &s->seed) && ok;
    ok = rondo_settings_count(config, "batch", 1, MAX_BATCH, &s->batch) && ok;
    ok = !open_rule(config, "absent", &s->absent) && ok;
    ok = !open_rule(config, "fail", &s->fail) && ok;
    ok = !open_rule(config, "hang", &s->hang) && ok;
    enum rondo_err errs[] = {
        open_template(config, "value", &s->value),
        open_template(config, "announce", &s->announce),
        open_answers(config, s),
    };
    s->error = rondo_strdup(error ? error : "scripted failure");
    if (!s->error) return RONDO_ERR_NOMEM;
    for (size_t i = 0; i < RONDO_COUNT_OF(errs); i++) {
        if (errs[i] == RONDO_ERR_NOMEM) return errs[i];
        ok = ok && !errs[i];
    }
    return ok ? RONDO_OK : RONDO_ERR_CONFIG;
}

static void scripted_close(void *source) {
    struct scripted *s = source;
    for (size_t i = 0; i < s->n_answers; i++) {
        rondo_free(s->answers[i].name);
        rondo_free(s->answers[i].value);
    }
    rondo_free(s->answers);
    rondo_template_free(s->value);
    rondo_template_free(s->announce);
    rondo_free(s->error);
    rondo_script_turns_fini(&s->turns);
    rondo_free(s);
}

static enum rondo_err scripted_open(const struct rondo_source_config *config, void **out) {
    if (config->n_params > MAX_PARAMS) {
        rondo_settings_mistake(config, NULL, "a key with more than %d parameters", MAX_PARAMS);
        return RONDO_ERR_CONFIG;
    }
    struct scripted *s = rondo_zalloc(sizeof *s);
    if (!s) return RONDO_ERR_NOMEM;
    rondo_script_turns_init(&s->turns);
    s->n_params = config->n_params;
    s->seed = 1;
    s->batch = 1;
    enum rondo_err err = open_settings(config, s);
    if (err) {
        scripted_close(s);
        return err;
    }
    s->counts = needs_turns(s);
    *out = s;
    return RONDO_OK;
}

static size_t scripted_batch(const void *source) {
    return (size_t)((const struct scripted *)source)->batch;
}

/* ----------------------------------------------------------------- load --- */

enum fate { ANSWER, ABSENT, FAIL, HANG, NOMEM };

struct turn {
    enum fate fate;
    uint64_t number;
};

static struct turn decide(struct scripted *s, const struct rondo_load_key *key) {
    struct turn turn = {ANSWER, 1};
    uint64_t hash = rondo_hash(key->key.data, key->key.len, s->seed);
    if (s->counts && rondo_script_turns_next(&s->turns, hash, &turn.number)) {
        turn.fate = NOMEM;
        return turn;
    }
    uint64_t state = hash + turn.number;
    uint64_t draws[] = {rondo_random_next(&state), rondo_random_next(&state),
                        rondo_random_next(&state)};
    if (rondo_script_applies(&s->hang, turn.number, draws[0]))
        turn.fate = HANG;
    else if (rondo_script_applies(&s->fail, turn.number, draws[1]))
        turn.fate = FAIL;
    else if (rondo_script_applies(&s->absent, turn.number, draws[2]))
        turn.fate = ABSENT;
    return turn;
}

static enum rondo_err render(const struct scripted *s, const struct rondo_template *t,
                             const struct rondo_load_key *key, uint64_t number,
                             struct rondo_buf *out) {
    struct rondo_slice values[MAX_PARAMS + RONDO_COUNT_OF(words)];
    char count[24];
    snprintf(count, sizeof count, "%" PRIu64, number);
    for (size_t i = 0; i < s->n_params; i++) values[i] = key->params[i];
    values[s->n_params + CLIENT] = key->client.len ? key->client : rondo_slice_str("somebody");
    values[s->n_params + COUNT] = rondo_slice_str(count);
    return rondo_template_render(t, values, out);
}

/* One write and one flush a line: stdio's own lock keeps lines whole.  Keys come
 * from strangers, so nothing but text reaches the terminal. */
static void announce(const struct scripted *s, const struct rondo_load_key *key, uint64_t number) {
    struct rondo_buf line = {0};
    if (!render(s, s->announce, key, number, &line)) {
        for (size_t i = 0; i < line.len; i++) {
            unsigned char c = (unsigned char)line.data[i];
            if (c < 0x20 || c == 0x7f) line.data[i] = '?';
        }
        if (!rondo_buf_append(&line, "\n", 1)) {
            fwrite(line.data, 1, line.len, stdout);
            fflush(stdout);
        }
    }
    rondo_buf_fini(&line);
}

static const char *find_answer(const struct scripted *s, struct rondo_slice name) {
    for (size_t i = 0; i < s->n_answers; i++)
        if (rondo_slice_is(name, s->answers[i].name)) return s->answers[i].value;
    return NULL;
}

static enum rondo_err answer_from_table(const struct scripted *s, const struct rondo_load *load,
                                        size_t i) {
    const struct rondo_load_key *key = &load->keys[i];
    struct rondo_buf name = {0};
    enum rondo_err err = RONDO_OK;
    for (size_t p = 0; !err && p < s->n_params; p++) {
        if (p > 0) err = rondo_buf_append(&name, ":", 1);
        if (!err) err = rondo_buf_append(&name, key->params[p].data, key->params[p].len);
    }
    if (!err) {
        const char *value = find_answer(s, rondo_slice_of(name.data, name.len));
        if (value)
            rondo_load_value(load, i, value, strlen(value), s->ttl_ns);
        else
            rondo_load_absent(load, i);
    }
    rondo_buf_fini(&name);
    return err;
}

static enum rondo_err answer_from_text(const struct scripted *s, const struct rondo_load *load,
                                       size_t i, uint64_t number) {
    const struct rondo_load_key *key = &load->keys[i];
    struct rondo_buf value = {0};
    enum rondo_err err = s->value ? render(s, s->value, key, number, &value)
                                  : rondo_buf_append(&value, key->key.data, key->key.len);
    if (!err) rondo_load_value(load, i, value.data, value.len, s->ttl_ns);
    rondo_buf_fini(&value);
    return err;
}

static void answer(const struct scripted *s, const struct rondo_load *load, size_t i,
                   const struct turn *turn) {
    enum rondo_err err = RONDO_OK;
    if (s->announce) announce(s, &load->keys[i], turn->number);
    switch (turn->fate) {
    case ANSWER:
        err =
            s->answers ? answer_from_table(s, load, i) : answer_from_text(s, load, i, turn->number);
        break;
    case ABSENT:
        rondo_load_absent(load, i);
        break;
    case FAIL:
        rondo_load_fail(load, i, RONDO_ERR_LOAD, s->error);
        break;
    case HANG:
        break;
    case NOMEM:
        err = RONDO_ERR_NOMEM;
        break;
    }
    if (err) rondo_load_fail(load, i, err, rondo_err_text(err));
}

/* False if the call is over before its keys can be answered. */
static bool wait_delay(const struct scripted *s, const struct rondo_load *load) {
    bool late = load->timeout_ns > 0 && s->delay_ns > load->timeout_ns;
    char text[64], limit[24];
    if (s->delay_ns == 0) return true;
    if (rondo_job_sleep(late ? load->timeout_ns : s->delay_ns) == RONDO_ERR_CANCELLED) {
        rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, RONDO_ERR_LOAD, "the cache is closing");
        return false;
    }
    if (!late) return true;
    rondo_quantity_print_duration(load->timeout_ns, limit);
    snprintf(text, sizeof text, "took longer than %s", limit);
    rondo_load_fail(load, (size_t)RONDO_LOAD_ALL, RONDO_ERR_TIMEOUT, text);
    return false;
}

static void scripted_load(void *connection, const struct rondo_load *load) {
    struct scripted *s = connection;
    struct turn turns[MAX_BATCH];
    bool hangs = false;
    RONDO_CHECK(load->n <= MAX_BATCH);
    for (size_t i = 0; i < load->n; i++) turns[i] = decide(s, &load->keys[i]);
    if (!wait_delay(s, load)) return;
    for (size_t i = 0; i < load->n; i++) {
        hangs = hangs || turns[i].fate == HANG;
        answer(s, load, i, &turns[i]);
    }
    if (!hangs) return;
    (void)rondo_job_sleep(hang_ns);
    for (size_t i = 0; i < load->n; i++)
        if (turns[i].fate == HANG) rondo_load_fail(load, i, RONDO_ERR_TIMEOUT, "hung");
}

static const struct rondo_source_ops ops = {
    .abi = RONDO_SOURCE_ABI,
    .type = "scripted",
    .help = "answers by a script: for demonstrations and tests",
    .options = options,
    .open = scripted_open,
    .close = scripted_close,
    .batch = scripted_batch,
    .load = scripted_load,
};

const struct rondo_source_ops *rondo_scripted_ops(void) {
    return &ops;
}
