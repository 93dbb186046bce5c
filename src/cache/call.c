/* SPDX-License-Identifier: MIT */
#include "cache/call.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cache/blob.h"

static void answer_value(const struct rondo_load *load, size_t i, const void *data, size_t len,
                         uint64_t ttl_ns);
static void answer_absent(const struct rondo_load *load, size_t i);
static void answer_fail(const struct rondo_load *load, size_t i, enum rondo_err err,
                        const char *text);

static const struct rondo_load_answers answer_functions = {answer_value, answer_absent,
                                                           answer_fail};

struct rondo_call *rondo_call_new(const struct rondo_call_options *options) {
    size_t n = options->batch, n_params = options->pattern->n_params;
    struct rondo_call *call = rondo_zalloc(sizeof *call);
    if (!call) return NULL;
    call->opt = options;
    call->arg = options->arg;
    call->job.run = options->run;
    call->job.done = options->done;
    call->job.late = options->late;
    call->job.limit_ns = options->timeout_ns == RONDO_OFF ? 0 : options->timeout_ns;
    call->flights = rondo_zalloc(n * sizeof *call->flights);
    call->keys = rondo_zalloc(n * sizeof *call->keys);
    call->params = rondo_zalloc(n * n_params * sizeof *call->params);
    call->answers = rondo_zalloc(n * sizeof *call->answers);
    rondo_list_init(&call->idle);
    if (call->flights && call->keys && call->params && call->answers) return call;
    rondo_call_free(call);
    return NULL;
}

void rondo_call_free(struct rondo_call *call) {
    if (!call) return;
    rondo_free(call->flights);
    rondo_free(call->keys);
    rondo_free(call->params);
    rondo_free(call->answers);
    rondo_free(call);
}

void rondo_call_prepare(struct rondo_call *call) {
    const struct rondo_pattern *pattern = call->opt->pattern;
    for (size_t i = 0; i < call->n; i++) {
        struct rondo_slice *params = call->params + i * pattern->n_params;
        struct rondo_slice key = rondo_flight_key(call->flights[i]);
        RONDO_CHECK(rondo_pattern_match(pattern, key, params));
        call->keys[i] = (struct rondo_load_key){key, params, rondo_flight_client(call->flights[i])};
    }
    call->load = (struct rondo_load){&answer_functions, call->keys, call->n, call->opt->timeout_ns};
}

static struct rondo_call *call_of(const struct rondo_load *load) {
    /* The source has it as const; what is behind it is the call's. */
    return RONDO_CONTAINER_OF((uintptr_t)load, struct rondo_call, load);
}

/* The place for an answer, or NULL if it is not wanted. */
static struct rondo_landing *place(struct rondo_call *call, size_t i) {
    if (i >= call->n || call->answers[i].is_given) {
        call->ignored++;
        return NULL;
    }
    call->answers[i].is_given = true;
    return &call->answers[i].landing;
}

static void answer_value(const struct rondo_load *load, size_t i, const void *data, size_t len,
                         uint64_t ttl_ns) {
    struct rondo_call *call = call_of(load);
    struct rondo_landing *landing = place(call, i);
    if (!landing) return;
    if (len > call->opt->max_value_bytes) {
        *landing = rondo_landing_failure(call->opt->name, RONDO_ERR_LOAD,
                                         "the value is larger than max_value");
        return;
    }
    rondo_blob *blob = rondo_blob_copy(data, len);
    if (blob)
        *landing = (struct rondo_landing){.outcome = RONDO_VALUE, .blob = blob, .ttl_ns = ttl_ns};
    else
        *landing =
            rondo_landing_failure(call->opt->name, RONDO_ERR_NOMEM, "no memory for the value");
}

static void answer_absent(const struct rondo_load *load, size_t i) {
    struct rondo_landing *landing = place(call_of(load), i);
    if (landing) *landing = (struct rondo_landing){.outcome = RONDO_ABSENT};
}

/* What a source may report; anything else is a failure of this load. */
static enum rondo_err load_err(enum rondo_err err) {
    bool is_known = err == RONDO_ERR_CONNECT || err == RONDO_ERR_TIMEOUT ||
                    err == RONDO_ERR_NOMEM || err == RONDO_ERR_CLOSED;
    return is_known ? err : RONDO_ERR_LOAD;
}

static void answer_fail(const struct rondo_load *load, size_t i, enum rondo_err err,
                        const char *text) {
    struct rondo_call *call = call_of(load);
    err = load_err(err);
    if (err == RONDO_ERR_CONNECT) call->is_broken = true;
    if (i == (size_t)RONDO_LOAD_ALL) {
        rondo_call_fail(call, err, text);
        return;
    }
    if (call->n == 1) call->failed = err;
    struct rondo_landing *landing = place(call, i);
    if (landing) *landing = rondo_landing_failure(call->opt->name, err, text);
}

void rondo_call_fail(struct rondo_call *call, enum rondo_err err, const char *text) {
    call->failed = err;
    for (size_t i = 0; i < call->n; i++) {
        if (call->answers[i].is_given) continue;
        call->answers[i].is_given = true;
        call->answers[i].landing = rondo_landing_failure(call->opt->name, err, text);
    }
}

void rondo_call_write(struct rondo_call *call, const struct rondo_source_ops *ops,
                      void *connection) {
    const struct rondo_flight *f = call->flights[0];
    struct rondo_source_error why = {""};
    struct rondo_store write = {.key = call->keys[0], .timeout_ns = call->opt->timeout_ns};
    if (f->value) write.value = rondo_slice_of(f->value->data, f->value->len);
    enum rondo_err err = f->kind == RONDO_FLIGHT_STORE ? ops->store(connection, &write, &why)
                                                       : ops->erase(connection, &write, &why);
    struct rondo_landing *landing = place(call, 0);
    RONDO_CHECK(landing != NULL);
    *landing = (struct rondo_landing){.outcome = RONDO_VALUE};
    if (!err) return;
    call->failed = err;
    call->is_broken = err == RONDO_ERR_CONNECT;
    why.text[sizeof why.text - 1] = '\0';
    *landing = rondo_landing_failure(call->opt->name, RONDO_ERR_STORE,
                                     why.text[0] ? why.text : rondo_err_text(err));
    landing->is_unknown = err == RONDO_ERR_TIMEOUT;
}

void rondo_call_answer(struct rondo_call *call, size_t i, struct rondo_landing *landing) {
    struct rondo_landing *at = place(call, i);
    if (at)
        *at = *landing;
    else
        rondo_landing_release(landing);
}

struct rondo_landing rondo_call_landing(struct rondo_call *call, size_t i) {
    struct rondo_call_answer *answer = &call->answers[i];
    struct rondo_landing landing = {.outcome = RONDO_ABSENT};
    if (answer->is_given) landing = answer->landing;
    *answer = (struct rondo_call_answer){0};
    return landing;
}

void rondo_call_reset(struct rondo_call *call) {
    for (size_t i = 0; i < call->n; i++) {
        if (call->answers[i].is_given) rondo_landing_release(&call->answers[i].landing);
        call->answers[i] = (struct rondo_call_answer){0};
    }
    call->n = 0;
    call->has_run = call->was_made = call->is_broken = call->is_stuck = false;
    call->failed = RONDO_OK;
    call->ignored = 0;
}
