// SPDX-License-Identifier: MIT
//
// Caffeine, called as the C programs are (see ../trial.h):
// CachePeer hit|ratio THREADS SCALE TRACE KEYS.  Keys are strings; those that
// are asked for are other objects than those that are stored, with their hash
// already known, which C programs compute each time.
import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.CyclicBarrier;

public final class CachePeer {
    static final int VALUE = 32, RATIO_SHARE = 10, WARM_UP_ROUNDS = 3;
    static final VarHandle WORDS =
        MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    final Cache<String, byte[]> cache;
    final int[] trace;
    final String[] keys;
    final boolean stores;

    CachePeer(Cache<String, byte[]> cache, int[] trace, String[] keys, boolean stores) {
        this.cache = cache;
        this.trace = trace;
        this.keys = keys;
        this.stores = stores;
    }

    static String[] makeKeys(int n) {
        String[] keys = new String[n];
        for (int i = 0; i < n; i++) {
            keys[i] = String.format(Locale.ROOT, "user:%011d", i);
            if (keys[i].hashCode() == 0) throw new IllegalStateException("a hash of 0 is not kept");
        }
        return keys;
    }

    static byte[] valueOf(int number) {
        byte[] value = new byte[VALUE];
        long state = number;
        for (int i = 0; i < VALUE; i += 8) {
            long z = state += 0x9e3779b97f4a7c15L;
            z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
            z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
            WORDS.set(value, i, z ^ z >>> 31);
        }
        return value;
    }

    static long sumOf(byte[] value) {
        long sum = 0;
        for (int i = 0; i < VALUE; i += 8) sum += (long) WORDS.get(value, i);
        return sum;
    }

    static int[] loadTrace(String path) throws Exception {
        var bytes = java.nio.ByteBuffer.wrap(Files.readAllBytes(Path.of(path)));
        var ints = bytes.order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
        int[] trace = new int[ints.remaining()];
        ints.get(trace);
        return trace;
    }

    /** Hits in [0], the sum of all that was read or stored in [1]. */
    long[] walk(int first, long n) {
        long hits = 0, sum = 0;
        byte[] copy = new byte[VALUE];
        int at = first;
        for (long i = 0; i < n; i++) {
            int number = trace[at];
            if (++at == trace.length) at = 0;
            byte[] value = cache.getIfPresent(keys[number]);
            if (value != null) {
                hits++;
                System.arraycopy(value, 0, copy, 0, VALUE);
                sum += sumOf(copy);
            } else if (stores) {
                value = valueOf(number);
                cache.put(keys[number], value);
                sum += sumOf(value);
            }
        }
        return new long[] {hits, sum};
    }

    long expected(int first, long n) {
        long sum = 0;
        for (long i = 0; i < n; i++) sum += sumOf(valueOf(trace[(int) ((first + i) % trace.length)]));
        return sum;
    }

    /** What is wrong, or null; the nanoseconds of all threads in ns[0]. */
    String hit(int threads, long scale, double[] ns) throws Exception {
        var start = new CyclicBarrier(threads);
        var walkers = new Thread[threads];
        var tallies = new long[threads][];
        var took = new long[threads];
        for (int t = 0; t < threads; t++) {
            int index = t;
            walkers[t] = new Thread(() -> {
                try {
                    int first = trace.length / threads * index;
                    for (int i = 0; i < WARM_UP_ROUNDS; i++) walk(first, scale / 2 + 1);
                    start.await();
                    long from = System.nanoTime();
                    tallies[index] = walk(first, scale);
                    took[index] = System.nanoTime() - from;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            walkers[t].start();
        }
        for (int t = 0; t < threads; t++) {
            walkers[t].join();
            ns[0] += took[t];
            if (tallies[t] == null || tallies[t][0] != scale) return "a key that was stored is not there";
            if (tallies[t][1] != expected(trace.length / threads * t, scale))
                return "a value is not the one that was stored";
        }
        return null;
    }

    static void answer(String job, int threads, String figures, String wrong) {
        System.out.printf(Locale.ROOT, "{\"peer\": \"caffeine\", \"job\": \"%s\", \"threads\": %d, %s%s, \"ok\": %s}%n",
            job, threads, figures, wrong == null ? "" : ", \"wrong\": \"" + wrong + "\"", wrong == null);
        System.exit(wrong == null ? 0 : 1);
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 5 || !(args[0].equals("hit") || args[0].equals("ratio"))) {
            System.err.println("usage: CachePeer hit|ratio THREADS SCALE TRACE KEYS");
            System.exit(2);
        }
        int threads = Integer.parseInt(args[1]), nKeys = Integer.parseInt(args[4]);
        long scale = Long.parseLong(args[2]);
        int[] trace = loadTrace(args[3]);
        boolean isRatio = args[0].equals("ratio");
        // On the caller's thread, so that a run can be repeated.
        Cache<String, byte[]> cache = Caffeine.newBuilder()
            .maximumSize(isRatio ? nKeys / RATIO_SHARE : 2L * nKeys).executor(Runnable::run).build();
        var peer = new CachePeer(cache, trace, makeKeys(nKeys), isRatio);
        if (isRatio) {
            long half = scale / 2;
            peer.walk(0, half);
            int first = (int) (half % trace.length);
            long[] tally = peer.walk(first, half);
            cache.cleanUp();
            answer("ratio", threads, String.format(Locale.ROOT, "\"hit_percent\": %.4f, \"entries\": %d",
                100.0 * tally[0] / half, cache.estimatedSize()),
                tally[1] == peer.expected(first, half) ? null : "a value is not the one that was stored");
        }
        String[] stored = makeKeys(nKeys);
        for (int i = 0; i < nKeys; i++) cache.put(stored[i], valueOf(i));
        double[] ns = {0};
        String wrong = peer.hit(threads, scale, ns);
        answer("hit", threads, String.format(Locale.ROOT, "\"scale\": %d, \"ns_per_hit\": %.2f",
            scale, ns[0] / threads / scale), wrong);
    }
}
