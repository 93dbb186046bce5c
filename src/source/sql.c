/* SPDX-License-Identifier: MIT */
#include "source/sql.h"

#include "source/settings.h"
#include <ctype.h>
#include <strings.h>

const char *const rondo_sql_names[] = {"load", "load_many", "store", "erase"};

static bool begins_with_word(const char *sql, const char *word) {
    size_t len = strlen(word);
    return strncasecmp(sql, word, len) == 0 && !isalnum((unsigned char)sql[len]);
}

static bool may_read(const char *sql) {
    static const char *const words[] = {"SELECT", "WITH", "VALUES", "TABLE"};
    if (!isalpha((unsigned char)sql[0])) return true; /* a comment or a parenthesis */
    for (size_t i = 0; i < RONDO_COUNT_OF(words); i++)
        if (begins_with_word(sql, words[i])) return true;
    return false;
}

/* What is wrong with a statement that the server would not say, NULL if nothing. */
static const char *unfit(enum rondo_sql_statement which, const char *text, uint32_t used,
                         size_t n_params) {
    const char *sql = text + strspn(text, " \t\r\n");
    uint32_t value = UINT32_C(1) << n_params, params = value - 1;
    if (sql[0] == '\0') return "an empty statement";
    if (which == RONDO_SQL_STORE) return used & value ? NULL : "it has no place for {value}";
    if (which == RONDO_SQL_ERASE) return used & params ? NULL : "it has no place for the key";
    if (!may_read(sql)) return "a statement that reads begins with SELECT, WITH, VALUES or TABLE";
    if (which == RONDO_SQL_LOAD_MANY && n_params != 1)
        return "it needs a key with exactly one parameter";
    if (which == RONDO_SQL_LOAD_MANY && used != params) return "it has no place for the keys";
    return NULL;
}

static enum rondo_err refuse(const struct rondo_source_config *config, const char *setting,
                             const char *text) {
    rondo_settings_mistake(config, setting, "%s", text);
    return RONDO_ERR_CONFIG;
}

static enum rondo_err open_one(const struct rondo_source_config *config, char sign,
                               enum rondo_sql_statement which, struct rondo_sql *out) {
    static const char *const value[] = {"value"}, *const client[] = {"client"};
    const char *name = rondo_sql_names[which];
    const char *text = rondo_settings_get(config, name);
    if (!text) return RONDO_OK;
    struct rondo_template_names names = {config->params, config->n_params, NULL, 0};
    names.words = which == RONDO_SQL_STORE ? value : client;
    names.n_words = which == RONDO_SQL_LOAD || which == RONDO_SQL_STORE;
    struct rondo_source_error why;
    enum rondo_err err = rondo_template_new(text, &names, &why, &out->templates[which]);
    if (err) return err == RONDO_ERR_CONFIG ? refuse(config, name, why.text) : err;
    const char *wrong = unfit(which, text, out->templates[which]->used, config->n_params);
    if (wrong) return refuse(config, name, wrong);
    err = rondo_template_to_sql(out->templates[which], sign, &why, &out->sql[which]);
    return err == RONDO_ERR_CONFIG ? refuse(config, name, why.text) : err;
}

enum rondo_err rondo_sql_open(const struct rondo_source_config *config, char sign,
                              struct rondo_sql *out) {
    enum rondo_err worst = RONDO_OK;
    *out = (struct rondo_sql){.n_params = config->n_params};
    if (config->n_params > RONDO_SQL_PARAMS)
        return refuse(config, NULL, "more than 16 parameters in the key");
    for (int i = 0; worst != RONDO_ERR_NOMEM && i < RONDO_SQL_STATEMENTS; i++) {
        enum rondo_err err = open_one(config, sign, (enum rondo_sql_statement)i, out);
        if (err) worst = err;
    }
    return worst;
}

void rondo_sql_fini(struct rondo_sql *sql) {
    for (int i = 0; i < RONDO_SQL_STATEMENTS; i++) {
        rondo_template_free(sql->templates[i]);
        rondo_template_sql_fini(&sql->sql[i]);
    }
}

unsigned rondo_sql_writes(const struct rondo_sql *sql) {
    return (sql->templates[RONDO_SQL_STORE] ? RONDO_SOURCE_STORES : 0u) |
           (sql->templates[RONDO_SQL_ERASE] ? RONDO_SOURCE_ERASES : 0u);
}

void rondo_sql_values(const struct rondo_sql *sql, const struct rondo_load_key *key,
                      struct rondo_slice word, struct rondo_slice *out) {
    for (size_t i = 0; i < sql->n_params; i++) out[i] = key->params[i];
    out[sql->n_params] = word;
}
