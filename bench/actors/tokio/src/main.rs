// SPDX-License-Identifier: MIT

//! The jobs on tokio's tasks and unbounded channels: JOB WORKERS SCALE. A
//! shorter run comes first and is not measured (but for J6, whose memory shows
//! in a fresh process alone).

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

const PRODUCERS: usize = 8;
const CHUNK: i64 = 100;
const RECEIVERS: usize = 64;

/// Work whose result nobody could see would not be done.
static SINK: AtomicI64 = AtomicI64::new(0);

#[derive(Default)]
struct Outcome {
    messages: i64,
    elapsed_ns: i64,
    bytes_per_actor: f64,
    p50_ns: i64,
    p99_ns: i64,
    wrong: Option<&'static str>,
}

fn work(mut x: i64, steps: i64) -> i64 {
    for _ in 0..steps {
        x = (x * 16807 + 1) & 0x7fff_ffff;
    }
    x
}

/// How many steps take so long here.
fn work_steps(ns: i64) -> i64 {
    if ns == 0 {
        return 0;
    }
    const TRIAL: i64 = 200_000;
    let mut best = i64::MAX;
    let mut x = 1;
    for _ in 0..7 {
        let start = Instant::now();
        x = work(x, TRIAL);
        SINK.store(x, Ordering::Relaxed);
        best = best.min(start.elapsed().as_nanos() as i64);
    }
    (ns * TRIAL / best.max(1)).max(1)
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).build().expect("no runtime")
}

/// What the last of several parties announces.
struct End {
    left: AtomicI64,
    start: Instant,
    stop: mpsc::SyncSender<i64>,
}

impl End {
    fn new(parties: i64) -> (Arc<End>, mpsc::Receiver<i64>) {
        let (stop, stopped) = mpsc::sync_channel(1);
        (Arc::new(End { left: AtomicI64::new(parties), start: Instant::now(), stop }), stopped)
    }

    fn now(&self) -> i64 {
        self.start.elapsed().as_nanos() as i64
    }

    fn done(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.stop.send(self.now()).expect("nobody waits");
        }
    }
}

type Token = Box<i64>; // hops left

async fn node(
    mut inbox: UnboundedReceiver<Token>,
    next: UnboundedSender<Token>,
    steps: i64,
    end: Arc<End>,
) -> i64 {
    let (mut count, mut x) = (0, 1);
    while let Some(mut token) = inbox.recv().await {
        if *token == 0 {
            break; // the ring is taken down
        }
        count += 1;
        x = work(x, steps);
        *token -= 1;
        if *token > 0 {
            let _ = next.send(token);
        } else {
            end.done();
        }
    }
    SINK.store(x, Ordering::Relaxed);
    count
}

fn ring(workers: usize, scale: i64, n: i64, tokens: i64, work_ns: i64) -> Outcome {
    let rounds = (scale + n * tokens - 1) / (n * tokens);
    let steps = work_steps(work_ns);
    let rt = runtime(workers);
    let (end, stopped) = End::new(tokens);
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..n).map(|_| unbounded_channel()).unzip();
    let mut tasks = Vec::new();
    for (i, inbox) in inboxes.into_iter().enumerate() {
        let next = senders[(i + 1) % n as usize].clone();
        tasks.push(rt.spawn(node(inbox, next, steps, end.clone())));
    }
    let start = end.now();
    for k in 0..tokens {
        let _ = senders[(k * n / tokens) as usize].send(Box::new(rounds * n));
    }
    let stop = stopped.recv().expect("the ring is gone");
    let mut wrong = None;
    for (sender, task) in senders.iter().zip(tasks) {
        let _ = sender.send(Box::new(0));
        if rt.block_on(task).unwrap_or(-1) != rounds * tokens {
            wrong = Some("a node counted wrong");
        }
    }
    Outcome { messages: rounds * n * tokens, elapsed_ns: stop - start, wrong, ..Default::default() }
}

struct Item {
    producer: usize,
    number: i64,
    is_last: bool,
}

async fn produce(to: UnboundedSender<Item>, producer: usize, share: i64) {
    for number in 0..share {
        let _ = to.send(Item { producer, number, is_last: number + 1 == share });
        if number % CHUNK == CHUNK - 1 {
            tokio::task::yield_now().await; // an unbounded send never waits
        }
    }
}

async fn consume(mut inbox: UnboundedReceiver<Item>, end: Arc<End>) -> ([i64; PRODUCERS], bool) {
    let (mut taken, mut in_order, mut lasts) = ([0; PRODUCERS], true, 0);
    while lasts < PRODUCERS {
        let item = match inbox.recv().await {
            Some(item) => item,
            None => break,
        };
        in_order &= item.number == taken[item.producer];
        taken[item.producer] += 1;
        lasts += item.is_last as usize;
    }
    end.done();
    (taken, in_order)
}

fn fan_in(workers: usize, scale: i64) -> Outcome {
    let share = (scale + PRODUCERS as i64 - 1) / PRODUCERS as i64;
    let rt = runtime(workers);
    let (end, stopped) = End::new(1);
    let (to, inbox) = unbounded_channel();
    let consumer = rt.spawn(consume(inbox, end.clone()));
    let start = end.now();
    for producer in 0..PRODUCERS {
        rt.spawn(produce(to.clone(), producer, share));
    }
    drop(to);
    let stop = stopped.recv().expect("the consumer is gone");
    let (taken, in_order) = rt.block_on(consumer).expect("the consumer is gone");
    let wrong = if !in_order {
        Some("a message is missing, doubled or out of order")
    } else if taken.iter().any(|n| *n != share) {
        Some("the consumer counted wrong")
    } else {
        None
    };
    let messages = share * PRODUCERS as i64;
    Outcome { messages, elapsed_ns: stop - start, wrong, ..Default::default() }
}

fn resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|p| p.parse::<i64>().ok());
    pages.unwrap_or(0) * 4096
}

async fn counter(mut inbox: UnboundedReceiver<u32>, slots: Arc<Vec<AtomicU32>>, end: Arc<End>) {
    while let Some(i) = inbox.recv().await {
        slots[i as usize].fetch_add(1, Ordering::Relaxed);
        end.done();
    }
}

fn spawn(workers: usize, n: i64) -> Outcome {
    let rt = runtime(workers);
    let (end, stopped) = End::new(n);
    let slots: Arc<Vec<AtomicU32>> = Arc::new((0..n).map(|_| AtomicU32::new(1)).collect());
    slots.iter().for_each(|s| s.store(0, Ordering::Relaxed)); // touched before it counts
    let mut keep = vec![None; n as usize];
    let before = resident_bytes();
    let (slots_too, end_too) = (slots.clone(), end.clone());
    let start = end.now();
    let root = rt.spawn(async move {
        for i in 0..n {
            let (to, inbox) = unbounded_channel();
            tokio::spawn(counter(inbox, slots_too.clone(), end_too.clone()));
            let _ = to.send(i as u32);
            keep[i as usize] = Some(to);
            if i % CHUNK == CHUNK - 1 {
                tokio::task::yield_now().await;
            }
        }
        keep
    });
    let stop = stopped.recv().expect("an actor is gone");
    let bytes = resident_bytes() - before;
    drop(rt.block_on(root));
    let is_right = slots.iter().all(|s| s.load(Ordering::Relaxed) == 1);
    Outcome {
        messages: n,
        elapsed_ns: stop - start,
        bytes_per_actor: bytes as f64 / n as f64,
        wrong: if is_right { None } else { Some("an actor counted wrong") },
        ..Default::default()
    }
}

fn wait_until(end: &End, due: i64) {
    let far = due - end.now();
    if far > 80_000 {
        std::thread::sleep(Duration::from_nanos(far as u64 - 80_000));
    }
    while end.now() < due {
        std::hint::spin_loop();
    }
}

async fn receiver(
    mut inbox: UnboundedReceiver<(usize, i64)>,
    slots: Arc<Vec<AtomicI64>>,
    steps: i64,
    end: Arc<End>,
) {
    let mut x = 1;
    while let Some((index, due)) = inbox.recv().await {
        x = work(x, steps);
        slots[index].fetch_add(end.now() - due, Ordering::Relaxed);
        end.done();
    }
    SINK.store(x, Ordering::Relaxed);
}

fn latency(workers: usize, n: i64, work_ns: i64) -> Outcome {
    let steps = work_steps(work_ns);
    let rt = runtime(workers);
    let (end, stopped) = End::new(n);
    let slots: Arc<Vec<AtomicI64>> = Arc::new((0..n).map(|_| AtomicI64::new(0)).collect());
    let senders: Vec<_> = (0..RECEIVERS)
        .map(|_| {
            let (to, inbox) = unbounded_channel();
            rt.spawn(receiver(inbox, slots.clone(), steps, end.clone()));
            to
        })
        .collect();
    let start = end.now() + 1000;
    for i in 0..n {
        let due = start + i * 2 * work_ns / workers as i64;
        wait_until(&end, due);
        let _ = senders[i as usize % RECEIVERS].send((i as usize, due));
    }
    let stop = stopped.recv().expect("a receiver is gone");
    let mut sorted: Vec<i64> = slots.iter().map(|s| s.load(Ordering::Relaxed)).collect();
    sorted.sort_unstable();
    Outcome {
        messages: n,
        elapsed_ns: stop - start,
        p50_ns: sorted[n as usize / 2],
        p99_ns: sorted[n as usize * 99 / 100],
        wrong: if sorted[0] == 0 { Some("a message was lost") } else { None },
        ..Default::default()
    }
}

fn run(job: &str, workers: usize, scale: i64) -> Outcome {
    match job {
        "J1" => ring(workers, scale, 100, 1, 0),
        "J2" => ring(workers, scale, 503, 1, 0),
        "J3" => ring(workers, scale, 1000, 100, 0),
        "J3b" => ring(workers, scale, 1000, 100, 200),
        "J4" => ring(workers, scale, 2, 1, 0),
        "J5" => fan_in(workers, scale),
        "J6" => spawn(workers, scale),
        "J8a" => latency(workers, scale, 1000),
        "J8b" => latency(workers, scale, 100_000),
        _ => panic!("no such job here"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (job, workers) = (args[1].as_str(), args[2].parse().expect("workers"));
    let scale: i64 = args[3].parse().expect("scale");
    if job != "J6" {
        run(job, workers, scale / 5 + 1);
    }
    let o = run(job, workers, scale);
    print!(
        "{{\"peer\": \"tokio\", \"job\": \"{job}\", \"workers\": {workers}, \"messages\": {}, \
         \"elapsed_ns\": {}, \"ns_per_message\": {:.3}, ",
        o.messages,
        o.elapsed_ns,
        o.elapsed_ns as f64 / o.messages as f64
    );
    if o.bytes_per_actor > 0.0 {
        print!("\"bytes_per_actor\": {:.1}, ", o.bytes_per_actor);
    }
    if o.p50_ns > 0 {
        print!("\"p50_ns\": {}, \"p99_ns\": {}, ", o.p50_ns, o.p99_ns);
    }
    if let Some(wrong) = o.wrong {
        print!("\"wrong\": \"{wrong}\", ");
    }
    println!("\"ok\": {}}}", o.wrong.is_none());
    std::process::exit(o.wrong.is_some() as i32);
}
