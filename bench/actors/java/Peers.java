// SPDX-License-Identifier: MIT
//
// The jobs in Java, on three designs: VARIANT JOB WORKERS SCALE.
//   pool      a ThreadPoolExecutor, a LinkedBlockingQueue per actor, one task
//             per message: the design of the old experiment, with a monitor so
//             that an actor's state is touched by one thread at a time
//   threads   a thread and a LinkedBlockingQueue per actor
//   forkjoin  a ForkJoinPool, a ConcurrentLinkedQueue per actor, a batch of
//             messages per task
// A shorter run comes first and is not measured.

import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

final class Message {
    static final Message GO = new Message(), STOP = new Message();
    int producer;
    boolean isLast;
    long value, dueNs;
}

interface Actor {
    void send(Message m);
}

interface Behaviour {
    void receive(Actor self, Message m);
}

/** A design: how actors get their messages and who runs them. */
interface Design {
    Actor spawn(Behaviour b, int index);

    void close() throws InterruptedException;
}

final class Pool implements Design {
    private final ExecutorService[] executors;

    /** Spread: a thread of its own for every second actor. */
    Pool(int workers, boolean isSpread) {
        executors = new ExecutorService[isSpread ? workers : 1];
        for (int i = 0; i < executors.length; i++) executors[i] = executor(isSpread ? 1 : workers);
    }

    private static ExecutorService executor(int threads) {
        return new ThreadPoolExecutor(threads, threads, 0, TimeUnit.SECONDS,
                                      new LinkedBlockingQueue<Runnable>());
    }

    private static final class Node implements Actor, Runnable {
        private final LinkedBlockingQueue<Message> queue = new LinkedBlockingQueue<>();
        private final ExecutorService executor;
        private final Behaviour behaviour;

        Node(ExecutorService executor, Behaviour behaviour) {
            this.executor = executor;
            this.behaviour = behaviour;
        }

        public void send(Message m) {
            queue.add(m);
            executor.execute(this);
        }

        public synchronized void run() {
            behaviour.receive(this, queue.poll());
        }
    }

    public Actor spawn(Behaviour b, int index) {
        return new Node(executors[index % executors.length], b);
    }

    public void close() throws InterruptedException {
        for (ExecutorService e : executors) {
            e.shutdownNow();
            e.awaitTermination(10, TimeUnit.SECONDS);
        }
    }
}

final class Threads implements Design {
    private final java.util.List<Node> nodes = new java.util.ArrayList<>();

    private static final class Node extends Thread implements Actor {
        private final LinkedBlockingQueue<Message> queue = new LinkedBlockingQueue<>();
        private final Behaviour behaviour;

        Node(Behaviour behaviour) {
            this.behaviour = behaviour;
        }

        public void send(Message m) {
            queue.add(m);
        }

        @Override
        public void run() {
            try {
                for (Message m = queue.take(); m != Message.STOP; m = queue.take())
                    behaviour.receive(this, m);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public Actor spawn(Behaviour b, int index) {
        Node node = new Node(b);
        node.start();
        nodes.add(node);
        return node;
    }

    public void close() throws InterruptedException {
        for (Node n : nodes) n.send(Message.STOP);
        for (Node n : nodes) n.join();
    }
}

final class ForkJoin implements Design {
    private final ForkJoinPool pool;

    ForkJoin(int workers) {
        pool = new ForkJoinPool(workers, ForkJoinPool.defaultForkJoinWorkerThreadFactory, null, true);
    }

    /** A task that never completes: it is pushed again whenever there is something to do. */
    private static final class Node extends ForkJoinTask<Void> implements Actor {
        private static final long serialVersionUID = 1;
        private static final int BATCH = 64;
        private final transient ConcurrentLinkedQueue<Message> queue = new ConcurrentLinkedQueue<>();
        private final AtomicBoolean isScheduled = new AtomicBoolean();
        private final transient ForkJoinPool pool;
        private final transient Behaviour behaviour;

        Node(ForkJoinPool pool, Behaviour behaviour) {
            this.pool = pool;
            this.behaviour = behaviour;
        }

        public void send(Message m) {
            queue.add(m);
            schedule();
        }

        private void schedule() {
            if (isScheduled.get() || !isScheduled.compareAndSet(false, true)) return;
            if (ForkJoinTask.getPool() == pool) fork();
            else pool.execute(this);
        }

        @Override
        protected boolean exec() {
            Message m = null;
            for (int i = 0; i < BATCH && (m = queue.poll()) != null; i++) behaviour.receive(this, m);
            isScheduled.set(false);
            if (!queue.isEmpty()) schedule();
            return false;
        }

        @Override
        public Void getRawResult() {
            return null;
        }

        @Override
        protected void setRawResult(Void v) {}
    }

    public Actor spawn(Behaviour b, int index) {
        return new Node(pool, b);
    }

    public void close() throws InterruptedException {
        pool.shutdownNow();
        pool.awaitTermination(10, TimeUnit.SECONDS);
    }
}

final class Result {
    long messages, elapsedNs, p50Ns, p99Ns;
    double bytesPerActor;
    String wrong;
}

/** One run of one job on one design. */
final class Job {
    static final int PRODUCERS = 8, CHUNK = 100, RECEIVERS = 64;
    private final Design design;
    private final int workers;
    private final long scale;
    private final CountDownLatch end = new CountDownLatch(1);
    private final AtomicLong left = new AtomicLong();
    private volatile long stopNs;
    final Result result = new Result();

    Job(Design design, int workers, long scale) {
        this.design = design;
        this.workers = workers;
        this.scale = scale;
    }

    private void done() {
        if (left.decrementAndGet() > 0) return;
        stopNs = System.nanoTime();
        end.countDown();
    }

    private void await(long startNs) throws InterruptedException {
        end.await();
        result.elapsedNs = stopNs - startNs;
    }

    static long work(long x, long steps) {
        while (steps-- > 0) x = (x * 16807 + 1) & 0x7fffffff;
        return x;
    }

    static volatile long sink;

    static long workSteps(long ns) {
        if (ns == 0) return 0;
        final int trial = 200000;
        long best = Long.MAX_VALUE;
        for (int i = 0; i < 40; i++) {
            long start = System.nanoTime();
            sink = work(sink + 1, trial);
            best = Math.min(best, System.nanoTime() - start);
        }
        return Math.max(1, ns * trial / Math.max(1, best));
    }

    // ------------------------------------------------------------- ring ---

    private final class Node implements Behaviour {
        private final long steps;
        Actor next;
        long count, x;

        Node(long steps) {
            this.steps = steps;
        }

        public void receive(Actor self, Message m) {
            count++;
            if (steps > 0) x = work(x + 1, steps);
            if (--m.value > 0) next.send(m);
            else done();
        }
    }

    void ring(int n, int tokens, long workNs) throws InterruptedException {
        long rounds = (scale + (long) n * tokens - 1) / ((long) n * tokens);
        long steps = workSteps(workNs);
        Node[] nodes = new Node[n];
        Actor[] actors = new Actor[n];
        for (int i = 0; i < n; i++) actors[i] = design.spawn(nodes[i] = new Node(steps), i);
        for (int i = 0; i < n; i++) nodes[i].next = actors[(i + 1) % n];
        left.set(tokens);
        long startNs = System.nanoTime();
        for (int k = 0; k < tokens; k++) {
            Message m = new Message();
            m.value = rounds * n;
            actors[k * n / tokens].send(m);
        }
        await(startNs);
        design.close();
        result.messages = rounds * n * tokens;
        for (Node node : nodes)
            if (node.count != rounds * tokens) result.wrong = "a node counted wrong";
    }

    // ------------------------------------------------------------ fan-in ---

    private final class Producer implements Behaviour {
        private final Actor consumer;
        private final int index;
        private final long share;
        private long sent;

        Producer(Actor consumer, int index, long share) {
            this.consumer = consumer;
            this.index = index;
            this.share = share;
        }

        public void receive(Actor self, Message go) {
            for (int i = 0; i < CHUNK && sent < share; i++) {
                Message m = new Message();
                m.producer = index;
                m.value = sent++;
                m.isLast = sent == share;
                consumer.send(m);
            }
            if (sent < share) self.send(go);
        }
    }

    private final class Consumer implements Behaviour {
        private final long[] taken = new long[PRODUCERS];
        boolean isOutOfOrder;

        public void receive(Actor self, Message m) {
            if (m.value != taken[m.producer]++) isOutOfOrder = true;
            if (m.isLast) done();
        }
    }

    void fanIn() throws InterruptedException {
        long share = (scale + PRODUCERS - 1) / PRODUCERS;
        Consumer consumer = new Consumer();
        Actor to = design.spawn(consumer, 0);
        Actor[] producers = new Actor[PRODUCERS];
        for (int i = 0; i < PRODUCERS; i++)
            producers[i] = design.spawn(new Producer(to, i, share), i + 1);
        left.set(PRODUCERS);
        long startNs = System.nanoTime();
        for (Actor p : producers) p.send(Message.GO);
        await(startNs);
        design.close();
        result.messages = share * PRODUCERS;
        if (consumer.isOutOfOrder) result.wrong = "a message is missing, doubled or out of order";
        for (long n : consumer.taken)
            if (n != share) result.wrong = "the consumer counted wrong";
    }

    // ------------------------------------------------------------- spawn ---

    private final class Counter implements Behaviour {
        long count;

        public void receive(Actor self, Message m) {
            count++;
            done();
        }
    }

    /** Live bytes of the heap after a collection. */
    private static long liveBytes() {
        Runtime r = Runtime.getRuntime();
        for (int i = 0; i < 3; i++) System.gc();
        return r.totalMemory() - r.freeMemory();
    }

    void spawn() throws InterruptedException {
        int n = (int) scale;
        Actor[] actors = new Actor[n];
        Counter[] counters = new Counter[n];
        for (int i = 0; i < n; i++) counters[i] = new Counter();
        left.set(n);
        Actor root = design.spawn(new Behaviour() {
            private int spawned;

            public void receive(Actor self, Message go) {
                for (int i = 0; i < CHUNK && spawned < n; i++, spawned++) {
                    actors[spawned] = design.spawn(counters[spawned], spawned);
                    actors[spawned].send(new Message());
                }
                if (spawned < n) self.send(go);
            }
        }, 0);
        long before = liveBytes();
        long startNs = System.nanoTime();
        root.send(Message.GO);
        await(startNs);
        result.bytesPerActor = (double) (liveBytes() - before) / n;
        design.close();
        result.messages = n;
        for (Counter c : counters)
            if (c.count != 1) result.wrong = "an actor counted wrong";
        if (actors[n - 1] == null) result.wrong = "an actor was lost";
    }

    // ----------------------------------------------------------- latency ---

    private static void waitUntil(long dueNs) {
        long ns = dueNs - System.nanoTime();
        if (ns > 80000) LockSupport.parkNanos(ns - 80000);
        while (System.nanoTime() < dueNs) Thread.onSpinWait();
    }

    void latency(long workNs) throws InterruptedException {
        int n = (int) scale;
        long steps = workSteps(workNs);
        long[] latencyNs = new long[n];
        Actor[] actors = new Actor[RECEIVERS];
        for (int i = 0; i < RECEIVERS; i++)
            actors[i] = design.spawn(new Behaviour() {
                private long x;

                public void receive(Actor self, Message m) {
                    x = work(x + 1, steps);
                    latencyNs[(int) m.value] += System.nanoTime() - m.dueNs;
                    done();
                }
            }, i);
        left.set(n);
        long startNs = System.nanoTime() + 1000;
        for (int i = 0; i < n; i++) {
            Message m = new Message();
            m.value = i;
            m.dueNs = startNs + i * 2 * workNs / workers;
            waitUntil(m.dueNs);
            actors[i % RECEIVERS].send(m);
        }
        await(startNs);
        design.close();
        result.messages = n;
        Arrays.sort(latencyNs);
        if (latencyNs[0] == 0) result.wrong = "a message was lost";
        result.p50Ns = latencyNs[n / 2];
        result.p99Ns = latencyNs[(int) (n * 99L / 100)];
    }
}

public final class Peers {
    private static Design design(String variant, int workers, boolean isSpread) {
        switch (variant) {
        case "pool": return new Pool(workers, isSpread);
        case "threads": return new Threads();
        case "forkjoin": return new ForkJoin(workers);
        default: throw new IllegalArgumentException(variant);
        }
    }

    private static Result run(String variant, String name, int workers, long scale)
            throws InterruptedException {
        Job job = new Job(design(variant, workers, name.equals("J7")), workers, scale);
        switch (name) {
        case "J1": case "J7": job.ring(100, 1, 0); break;
        case "J2": job.ring(503, 1, 0); break;
        case "J3": job.ring(1000, 100, 0); break;
        case "J3b": job.ring(1000, 100, 200); break;
        case "J4": job.ring(2, 1, 0); break;
        case "J5": job.fanIn(); break;
        case "J6": job.spawn(); break;
        case "J8a": job.latency(1000); break;
        case "J8b": job.latency(100000); break;
        default: throw new IllegalArgumentException(name);
        }
        return job.result;
    }

    public static void main(String[] args) throws InterruptedException {
        int workers = Integer.parseInt(args[2]);
        long scale = Long.parseLong(args[3]);
        Result r = run(args[0], args[1], workers, Math.max(1, scale / 3));
        if (r.wrong == null) r = run(args[0], args[1], workers, scale);
        System.out.printf(java.util.Locale.ROOT,
            "{\"peer\": \"java-%s\", \"job\": \"%s\", \"workers\": %d, \"messages\": %d, "
            + "\"elapsed_ns\": %d, \"ns_per_message\": %.3f, ", args[0], args[1], workers,
            r.messages, r.elapsedNs, (double) r.elapsedNs / r.messages);
        if (r.bytesPerActor > 0)
            System.out.printf(java.util.Locale.ROOT, "\"bytes_per_actor\": %.1f, ", r.bytesPerActor);
        if (r.p50Ns > 0)
            System.out.printf("\"p50_ns\": %d, \"p99_ns\": %d, ", r.p50Ns, r.p99Ns);
        if (r.wrong != null) System.out.printf("\"wrong\": \"%s\", ", r.wrong);
        System.out.printf("\"ok\": %b}%n", r.wrong == null);
        System.exit(r.wrong == null ? 0 : 1);
    }
}
