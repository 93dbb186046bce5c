// SPDX-License-Identifier: MIT
//
// The jobs on the C++ Actor Framework: JOB WORKERS SCALE. A shorter run comes
// first and is not measured (but for J6, whose memory shows in a fresh process
// alone).

#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using caf::actor;
using caf::behavior;
using caf::event_based_actor;

constexpr int64_t producers = 8, chunk = 100, receivers = 64;

struct result {
    int64_t messages = 0, elapsed_ns = 0, p50_ns = 0, p99_ns = 0;
    double bytes_per_actor = 0;
    const char *wrong = nullptr;
};

int64_t now_ns() {
    auto t = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t).count();
}

int64_t work(int64_t x, int64_t steps) {
    while (steps-- > 0) x = (x * 16807 + 1) & 0x7fffffff;
    return x;
}

// How many steps take so long here.
int64_t work_steps(int64_t ns) {
    if (ns == 0) return 0;
    constexpr int64_t trial = 200000;
    int64_t best = INT64_MAX;
    volatile int64_t x = 1;
    for (int i = 0; i < 7; i++) {
        int64_t start = now_ns();
        x = work(x, trial);
        best = std::min(best, now_ns() - start);
    }
    return std::max<int64_t>(1, ns * trial / std::max<int64_t>(1, best));
}

struct config : caf::actor_system_config {
    explicit config(unsigned workers) {
        set("scheduler.max-threads", static_cast<int64_t>(workers));
    }
};

// One run: the system, its actors, and the end that the last party announces.
class job {
  public:
    job(unsigned workers, int64_t scale)
        : cfg_(workers), sys_(cfg_), workers_(workers), scale_(scale) {
    }

    ~job() {
        for (auto &a : actors_) caf::anon_send_exit(a, caf::exit_reason::user_shutdown);
    }

    job(const job &) = delete;
    job &operator=(const job &) = delete;

    result ring(int64_t n, int64_t tokens, int64_t work_ns);
    result fan_in();
    result spawn_many();
    result latency(int64_t work_ns);

  private:
    void done() {
        if (left_.fetch_sub(1) == 1) stop_.set_value(now_ns());
    }

    config cfg_;
    caf::actor_system sys_;
    unsigned workers_;
    int64_t scale_;
    std::vector<actor> actors_;
    std::atomic<int64_t> left_{0};
    std::promise<int64_t> stop_;
};

result job::ring(int64_t n, int64_t tokens, int64_t work_ns) {
    int64_t rounds = (scale_ + n * tokens - 1) / (n * tokens), steps = work_steps(work_ns);
    std::vector<int64_t> counts(static_cast<size_t>(n));
    auto node = [this, steps](event_based_actor *self, int64_t *count) -> behavior {
        return {[=](const actor &next) {
            self->become([=, x = int64_t{1}](int64_t hops_left) mutable {
                ++*count;
                x = work(x, steps);
                if (hops_left > 1)
                    self->send(next, hops_left - 1);
                else
                    done();
            });
        }};
    };
    for (auto &count : counts) actors_.push_back(sys_.spawn(node, &count));
    for (size_t i = 0; i < counts.size(); i++)
        caf::anon_send(actors_[i], actors_[(i + 1) % counts.size()]);
    left_ = tokens;
    int64_t start = now_ns();
    for (int64_t k = 0; k < tokens; k++)
        caf::anon_send(actors_[static_cast<size_t>(k * n / tokens)], rounds * n);
    result r;
    r.elapsed_ns = stop_.get_future().get() - start;
    r.messages = rounds * n * tokens;
    for (int64_t c : counts)
        if (c != rounds * tokens) r.wrong = "a node counted wrong";
    return r;
}

using go_atom = caf::atom_constant<caf::atom("go")>;

result job::fan_in() {
    int64_t share = (scale_ + producers - 1) / producers;
    std::vector<int64_t> taken(producers);
    bool is_out_of_order = false;
    actor consumer = sys_.spawn([&](event_based_actor *) -> behavior {
        return {[&, share](int64_t producer, int64_t number) {
            if (number != taken[static_cast<size_t>(producer)]++) is_out_of_order = true;
            if (number + 1 == share) done();
        }};
    });
    for (int64_t i = 0; i < producers; i++)
        actors_.push_back(sys_.spawn([=](event_based_actor *self) -> behavior {
            return {[=, sent = int64_t{0}](go_atom go) mutable {
                for (int64_t k = 0; k < chunk && sent < share; k++) self->send(consumer, i, sent++);
                if (sent < share) self->send(self, go);
            }};
        }));
    left_ = producers;
    int64_t start = now_ns();
    for (auto &a : actors_) caf::anon_send(a, go_atom::value);
    result r;
    r.elapsed_ns = stop_.get_future().get() - start;
    r.messages = share * producers;
    actors_.push_back(consumer);
    if (is_out_of_order) r.wrong = "a message is missing, doubled or out of order";
    for (int64_t n : taken)
        if (n != share) r.wrong = "the consumer counted wrong";
    // The actors refer to this frame: they must be gone before it is.
    for (auto &a : actors_) caf::anon_send_exit(a, caf::exit_reason::user_shutdown);
    actors_.clear();
    consumer = nullptr;
    sys_.await_all_actors_done();
    return r;
}

int64_t resident_bytes() {
    long size = 0, resident = 0;
    FILE *f = std::fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (std::fscanf(f, "%ld %ld", &size, &resident) != 2) resident = 0;
    std::fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

// From outside: an actor that spawns in turns is stolen again and again, which
// walks the whole queue of those it has spawned.
result job::spawn_many() {
    auto n = static_cast<size_t>(scale_);
    std::vector<int64_t> slots(n);
    actors_.resize(n); // touched before it counts
    auto one = [this](event_based_actor *, int64_t *slot) -> behavior {
        return {[=](go_atom) {
            ++*slot;
            done();
        }};
    };
    left_ = scale_;
    int64_t before = resident_bytes(), start = now_ns();
    for (size_t i = 0; i < n; i++) {
        actors_[i] = sys_.spawn(one, &slots[i]);
        caf::anon_send(actors_[i], go_atom::value);
    }
    result r;
    r.elapsed_ns = stop_.get_future().get() - start;
    r.bytes_per_actor = static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
    r.messages = scale_;
    for (int64_t s : slots)
        if (s != 1) r.wrong = "an actor counted wrong";
    return r;
}

void wait_until(int64_t due) {
    int64_t far = due - now_ns();
    if (far > 80000) std::this_thread::sleep_for(std::chrono::nanoseconds(far - 80000));
    while (now_ns() < due) continue;
}

result job::latency(int64_t work_ns) {
    std::vector<int64_t> latency_ns(static_cast<size_t>(scale_));
    int64_t steps = work_steps(work_ns), *slots = latency_ns.data();
    for (int64_t i = 0; i < receivers; i++)
        actors_.push_back(sys_.spawn([=](event_based_actor *) -> behavior {
            return {[=, x = int64_t{1}](int64_t index, int64_t due) mutable {
                x = work(x, steps);
                slots[index] += now_ns() - due;
                done();
            }};
        }));
    left_ = scale_;
    int64_t start = now_ns() + 1000;
    for (int64_t i = 0; i < scale_; i++) {
        int64_t due = start + i * 2 * work_ns / static_cast<int64_t>(workers_);
        wait_until(due);
        caf::anon_send(actors_[static_cast<size_t>(i % receivers)], i, due);
    }
    result r;
    r.elapsed_ns = stop_.get_future().get() - start;
    r.messages = scale_;
    std::sort(latency_ns.begin(), latency_ns.end());
    if (latency_ns[0] == 0) r.wrong = "a message was lost";
    r.p50_ns = latency_ns[latency_ns.size() / 2];
    r.p99_ns = latency_ns[latency_ns.size() * 99 / 100];
    return r;
}

result run(const std::string &name, unsigned workers, int64_t scale) {
    job j(workers, scale);
    if (name == "J1") return j.ring(100, 1, 0);
    if (name == "J2") return j.ring(503, 1, 0);
    if (name == "J3") return j.ring(1000, 100, 0);
    if (name == "J3b") return j.ring(1000, 100, 200);
    if (name == "J4") return j.ring(2, 1, 0);
    if (name == "J5") return j.fan_in();
    if (name == "J6") return j.spawn_many();
    if (name == "J8a") return j.latency(1000);
    if (name == "J8b") return j.latency(100000);
    std::fprintf(stderr, "no such job here\n");
    std::exit(2);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    std::string name = argv[1];
    auto workers = static_cast<unsigned>(std::atoi(argv[2]));
    int64_t scale = std::atoll(argv[3]);
    if (name != "J6") run(name, workers, scale / 5 + 1);
    result r = run(name, workers, scale);
    std::printf("{\"peer\": \"caf\", \"job\": \"%s\", \"workers\": %u, \"messages\": %" PRId64
                ", \"elapsed_ns\": %" PRId64 ", \"ns_per_message\": %.3f, ",
                name.c_str(), workers, r.messages, r.elapsed_ns,
                static_cast<double>(r.elapsed_ns) / static_cast<double>(r.messages));
    if (r.bytes_per_actor > 0) std::printf("\"bytes_per_actor\": %.1f, ", r.bytes_per_actor);
    if (r.p50_ns > 0)
        std::printf("\"p50_ns\": %" PRId64 ", \"p99_ns\": %" PRId64 ", ", r.p50_ns, r.p99_ns);
    if (r.wrong) std::printf("\"wrong\": \"%s\", ", r.wrong);
    std::printf("\"ok\": %s}\n", r.wrong ? "false" : "true");
    return r.wrong ? 1 : 0;
}
