/* SPDX-License-Identifier: MIT */
#include "config/address.h"

#include "base/check.h"
#include "source/quantity.h"
#include <arpa/inet.h>

static const char allowed[] =
    "an address and a port: 127.0.0.1:6380, [::1]:6380, localhost:6380 or *:6380";

static const char *read_port(const char *text, uint16_t *port) {
    uint64_t n;
    if (rondo_quantity_count(text, &n) || strlen(text) > 5) return allowed;
    if (n > UINT16_MAX) return "a port is 0 (any that is free) to 65535";
    *port = (uint16_t)n;
    return NULL;
}

static bool is_loopback4(const struct in_addr *a) {
    return (ntohl(a->s_addr) >> 24) == 127;
}

/* Judges the host, which is numeric by now; false if it is no address. */
static bool read_host(struct rondo_config_address *a) {
    struct in_addr v4;
    struct in6_addr v6;
    if (!a->is_ipv6) {
        if (inet_pton(AF_INET, a->host, &v4) != 1) return false;
        a->is_loopback = is_loopback4(&v4);
        return true;
    }
    if (inet_pton(AF_INET6, a->host, &v6) != 1) return false;
    memcpy(&v4, v6.s6_addr + 12, sizeof v4);
    a->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && is_loopback4(&v4));
    return true;
}

static bool is_word(const char *text, size_t len, const char *word) {
    return strlen(word) == len && strncmp(text, word, len) == 0;
}

const char *rondo_config_address_parse(const char *text, struct rondo_config_address *out) {
    struct rondo_config_address a = {.is_set = true};
    const char *colon = strrchr(text, ':');
    if (!colon) return allowed;
    size_t len = (size_t)(colon - text);
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        a.is_ipv6 = true;
        text++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof a.host) return allowed;
    if (is_word(text, len, "localhost"))
        snprintf(a.host, sizeof a.host, "127.0.0.1");
    else if (is_word(text, len, "*"))
        snprintf(a.host, sizeof a.host, "0.0.0.0");
    else
        snprintf(a.host, sizeof a.host, "%.*s", (int)len, text);
    if (!read_host(&a)) return allowed;
    const char *wrong = read_port(colon + 1, &a.port);
    if (!wrong) *out = a;
    return wrong;
}
