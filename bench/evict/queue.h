/* SPDX-License-Identifier: MIT */
/* queue.h - doubly linked queues of key numbers whose links lie in one array; a
 * key is in one queue at a time. */
#ifndef BENCH_EVICT_QUEUE_H
#define BENCH_EVICT_QUEUE_H

#include <stdint.h>

#define QUEUE_NONE UINT32_MAX

struct queue_link {
    uint32_t newer, older;
};

struct queue {
    uint32_t newest, oldest, count;
};

static inline struct queue queue_empty(void) {
    return (struct queue){QUEUE_NONE, QUEUE_NONE, 0};
}

static inline void queue_push(struct queue *q, struct queue_link *links, uint32_t key) {
    links[key] = (struct queue_link){QUEUE_NONE, q->newest};
    if (q->newest != QUEUE_NONE)
        links[q->newest].newer = key;
    else
        q->oldest = key;
    q->newest = key;
    q->count++;
}

static inline void queue_remove(struct queue *q, struct queue_link *links, uint32_t key) {
    struct queue_link l = links[key];
    if (l.newer != QUEUE_NONE)
        links[l.newer].older = l.older;
    else
        q->newest = l.older;
    if (l.older != QUEUE_NONE)
        links[l.older].newer = l.newer;
    else
        q->oldest = l.newer;
    q->count--;
}

#endif
