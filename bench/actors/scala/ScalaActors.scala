// SPDX-License-Identifier: MIT
//
// The jobs on Scala Actors: JOB WORKERS SCALE. A shorter run comes first and is
// not measured.

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.locks.LockSupport
import scala.actors.Actor

final class Token(var hopsLeft: Long)
final class Item(val producer: Int, val number: Long, val isLast: Boolean)
final class Timed(val index: Int, val dueNs: Long)
case object Go
case object First

final class Result {
  var messages, elapsedNs, p50Ns, p99Ns = 0L
  var bytesPerActor = 0.0
  var wrong: String = null
}

object Work {
  @volatile var sink = 0L

  def run(start: Long, steps: Long): Long = {
    var x = start
    var i = steps
    while (i > 0) { x = (x * 16807 + 1) & 0x7fffffff; i -= 1 }
    x
  }

  /** How many steps take so long here. */
  def steps(ns: Long): Long = if (ns == 0) 0 else {
    val trial = 200000
    var best = Long.MaxValue
    for (_ <- 1 to 40) {
      val start = System.nanoTime
      sink = run(sink + 1, trial)
      best = math.min(best, System.nanoTime - start)
    }
    math.max(1, ns * trial / math.max(1, best))
  }
}

/** One run of one job. */
final class Job(workers: Int, scale: Long) {
  private val producers = 8
  private val chunk = 100
  private val receivers = 64
  private val end = new CountDownLatch(1)
  private val left = new AtomicLong
  @volatile private var stopNs = 0L
  val result = new Result

  private def done(): Unit = if (left.decrementAndGet == 0) {
    stopNs = System.nanoTime
    end.countDown()
  }

  private def await(startNs: Long): Unit = {
    end.await()
    result.elapsedNs = stopNs - startNs
  }

  private final class Node(steps: Long) extends Actor {
    var next: Actor = null
    var count, x = 0L

    def act(): Unit = loop {
      react {
        case t: Token =>
          count += 1
          if (steps > 0) x = Work.run(x + 1, steps)
          t.hopsLeft -= 1
          if (t.hopsLeft > 0) next ! t else done()
      }
    }
  }

  def ring(n: Int, tokens: Int, workNs: Long): Unit = {
    val rounds = (scale + n * tokens - 1) / (n * tokens)
    val steps = Work.steps(workNs)
    val nodes = Array.fill(n)(new Node(steps))
    for (i <- 0 until n) nodes(i).next = nodes((i + 1) % n)
    nodes.foreach(_.start())
    left.set(tokens)
    val startNs = System.nanoTime
    for (k <- 0 until tokens) nodes(k * n / tokens) ! new Token(rounds * n)
    await(startNs)
    result.messages = rounds * n * tokens
    if (nodes.exists(_.count != rounds * tokens)) result.wrong = "a node counted wrong"
  }

  private final class Producer(consumer: Actor, index: Int, share: Long) extends Actor {
    private var sent = 0L

    def act(): Unit = loop {
      react {
        case Go =>
          var i = 0
          while (i < chunk && sent < share) {
            consumer ! new Item(index, sent, sent + 1 == share)
            sent += 1
            i += 1
          }
          if (sent < share) this ! Go
      }
    }
  }

  private final class Consumer extends Actor {
    val taken = new Array[Long](producers)
    var isOutOfOrder = false

    def act(): Unit = loop {
      react {
        case m: Item =>
          if (m.number != taken(m.producer)) isOutOfOrder = true
          taken(m.producer) += 1
          if (m.isLast) done()
      }
    }
  }

  def fanIn(): Unit = {
    val share = (scale + producers - 1) / producers
    val consumer = new Consumer
    consumer.start()
    val all = Array.tabulate(producers)(new Producer(consumer, _, share))
    all.foreach(_.start())
    left.set(producers)
    val startNs = System.nanoTime
    all.foreach(_ ! Go)
    await(startNs)
    result.messages = share * producers
    if (consumer.isOutOfOrder) result.wrong = "a message is missing, doubled or out of order"
    if (consumer.taken.exists(_ != share)) result.wrong = "the consumer counted wrong"
  }

  private final class Counter extends Actor {
    var count = 0L

    def act(): Unit = loop {
      react { case First => count += 1; done() }
    }
  }

  /** Live bytes of the heap after a collection. */
  private def liveBytes(): Long = {
    val r = Runtime.getRuntime
    for (_ <- 1 to 3) System.gc()
    r.totalMemory - r.freeMemory
  }

  private final class Spawner(made: Array[Counter]) extends Actor {
    private var spawned = 0

    def act(): Unit = loop {
      react {
        case Go =>
          var i = 0
          while (i < chunk && spawned < made.length) {
            val a = new Counter
            made(spawned) = a
            a.start()
            a ! First
            spawned += 1
            i += 1
          }
          if (spawned < made.length) this ! Go
      }
    }
  }

  def spawn(): Unit = {
    val made = new Array[Counter](scale.toInt)
    val root = new Spawner(made)
    root.start()
    left.set(made.length)
    val before = liveBytes()
    val startNs = System.nanoTime
    root ! Go
    await(startNs)
    result.bytesPerActor = (liveBytes() - before).toDouble / made.length
    result.messages = made.length
    if (made.exists(_.count != 1)) result.wrong = "an actor counted wrong"
  }

  private def waitUntil(dueNs: Long): Unit = {
    val ns = dueNs - System.nanoTime
    if (ns > 80000) LockSupport.parkNanos(ns - 80000)
    while (System.nanoTime < dueNs) {}
  }

  private final class Receiver(steps: Long, latencyNs: Array[Long]) extends Actor {
    private var x = 0L

    def act(): Unit = loop {
      react {
        case m: Timed =>
          x = Work.run(x + 1, steps)
          latencyNs(m.index) += System.nanoTime - m.dueNs
          done()
      }
    }
  }

  def latency(workNs: Long): Unit = {
    val n = scale.toInt
    val latencyNs = new Array[Long](n)
    val steps = Work.steps(workNs)
    val all = Array.fill(receivers)(new Receiver(steps, latencyNs))
    all.foreach(_.start())
    left.set(n)
    val startNs = System.nanoTime + 1000
    var i = 0
    while (i < n) {
      val dueNs = startNs + i * 2 * workNs / workers
      waitUntil(dueNs)
      all(i % receivers) ! new Timed(i, dueNs)
      i += 1
    }
    await(startNs)
    result.messages = n
    java.util.Arrays.sort(latencyNs)
    if (latencyNs(0) == 0) result.wrong = "a message was lost"
    result.p50Ns = latencyNs(n / 2)
    result.p99Ns = latencyNs((n * 99L / 100).toInt)
  }
}

object ScalaActors {
  private def run(name: String, workers: Int, scale: Long): Result = {
    val job = new Job(workers, scale)
    name match {
      case "J1" => job.ring(100, 1, 0)
      case "J2" => job.ring(503, 1, 0)
      case "J3" => job.ring(1000, 100, 0)
      case "J3b" => job.ring(1000, 100, 200)
      case "J4" => job.ring(2, 1, 0)
      case "J5" => job.fanIn()
      case "J6" => job.spawn()
      case "J8a" => job.latency(1000)
      case "J8b" => job.latency(100000)
    }
    job.result
  }

  def main(args: Array[String]): Unit = {
    val (name, workers, scale) = (args(0), args(1).toInt, args(2).toLong)
    // Read when the first actor starts.
    System.setProperty("actors.corePoolSize", workers.toString)
    System.setProperty("actors.maxPoolSize", workers.toString)
    var r = run(name, workers, math.max(1, scale / 3))
    if (r.wrong == null) r = run(name, workers, scale)
    val more = new StringBuilder
    if (r.bytesPerActor > 0) more ++= f""""bytes_per_actor": ${r.bytesPerActor}%.1f, """
    if (r.p50Ns > 0) more ++= s""""p50_ns": ${r.p50Ns}, "p99_ns": ${r.p99Ns}, """
    if (r.wrong != null) more ++= s""""wrong": "${r.wrong}", """
    println(s"""{"peer": "scala-actors", "job": "$name", "workers": $workers, """ +
      s""""messages": ${r.messages}, "elapsed_ns": ${r.elapsedNs}, """ +
      f""""ns_per_message": ${r.elapsedNs.toDouble / r.messages}%.3f, """ +
      s"""$more"ok": ${r.wrong == null}}""")
    System.exit(if (r.wrong == null) 0 else 1)
  }
}
