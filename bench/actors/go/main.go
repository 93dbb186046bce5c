// SPDX-License-Identifier: MIT

// The jobs on goroutines and buffered channels: JOB WORKERS SCALE. A shorter
// run comes first and is not measured (but for J6, whose memory shows in a
// fresh process alone).
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	producers = 8
	receivers = 64
	buffer    = 128 // messages that a channel holds; more than tokens in a ring
)

type result struct {
	messages, elapsedNs, p50Ns, p99Ns int64
	bytesPerActor                     float64
	wrong                             string
}

func work(x, steps int64) int64 {
	for ; steps > 0; steps-- {
		x = (x*16807 + 1) & 0x7fffffff
	}
	return x
}

var sink int64

// workSteps says how many steps of work take so long here.
func workSteps(ns int64) int64 {
	if ns == 0 {
		return 0
	}
	const trial = 200000
	best := int64(1) << 62
	for i := 0; i < 7; i++ {
		start := time.Now()
		sink = work(sink+1, trial)
		if t := time.Since(start).Nanoseconds(); t < best {
			best = t
		}
	}
	return ns*trial/best + 1
}

type token struct{ hopsLeft int64 }

func node(in <-chan *token, out chan<- *token, steps int64, count *int64, done chan<- bool) {
	var x int64
	for t := range in {
		*count++
		x = work(x+1, steps)
		t.hopsLeft--
		if t.hopsLeft > 0 {
			out <- t
		} else {
			done <- true
		}
	}
	atomic.AddInt64(&sink, x)
	done <- true
}

func ring(n, tokens, workNs, scale int64) (r result) {
	rounds := (scale + n*tokens - 1) / (n * tokens)
	steps := workSteps(workNs)
	counts := make([]int64, n)
	chans := make([]chan *token, n)
	done := make(chan bool, n)
	for i := range chans {
		chans[i] = make(chan *token, buffer)
	}
	for i := range chans {
		go node(chans[i], chans[(i+1)%int(n)], steps, &counts[i], done)
	}
	start := time.Now()
	for k := int64(0); k < tokens; k++ {
		chans[k*n/tokens] <- &token{rounds * n}
	}
	for k := int64(0); k < tokens; k++ {
		<-done
	}
	r.elapsedNs = time.Since(start).Nanoseconds()
	r.messages = rounds * n * tokens
	for _, c := range chans {
		close(c)
	}
	for range chans {
		<-done
	}
	for _, c := range counts {
		if c != rounds*tokens {
			r.wrong = "a node counted wrong"
		}
	}
	return r
}

type item struct {
	number   int64
	producer int32
	isLast   bool
}

func produce(out chan<- item, index int32, share int64) {
	for n := int64(0); n < share; n++ {
		out <- item{n, index, n+1 == share}
	}
}

func fanIn(scale int64) (r result) {
	share := (scale + producers - 1) / producers
	in := make(chan item, buffer)
	var taken [producers]int64
	start := time.Now()
	for i := int32(0); i < producers; i++ {
		go produce(in, i, share)
	}
	for lasts := 0; lasts < producers; {
		m := <-in
		if m.number != taken[m.producer] {
			r.wrong = "a message is missing, doubled or out of order"
		}
		taken[m.producer]++
		if m.isLast {
			lasts++
		}
	}
	r.elapsedNs = time.Since(start).Nanoseconds()
	r.messages = share * producers
	for _, n := range taken {
		if n != share {
			r.wrong = "the consumer counted wrong"
		}
	}
	return r
}

func residentBytes() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func counter(in <-chan bool, slot *int32, left *int64, done chan<- bool) {
	for range in {
		*slot++
		if atomic.AddInt64(left, -1) == 0 {
			done <- true
		}
	}
}

func spawn(n int64) (r result) {
	slots := make([]int32, n)
	for i := range slots { // touched before it counts
		slots[i] = 1
		slots[i] = 0
	}
	left := n
	done := make(chan bool)
	before := residentBytes()
	start := time.Now()
	go func() {
		for i := range slots {
			in := make(chan bool, 1)
			go counter(in, &slots[i], &left, done)
			in <- true
		}
	}()
	<-done
	r.elapsedNs = time.Since(start).Nanoseconds()
	r.bytesPerActor = float64(residentBytes()-before) / float64(n)
	r.messages = n
	for _, s := range slots {
		if s != 1 {
			r.wrong = "an actor counted wrong"
		}
	}
	return r
}

type timed struct {
	index int64
	due   time.Duration
}

func latency(workNs int64, workers int, n int64) (r result) {
	steps := workSteps(workNs)
	latencyNs := make([]int64, n)
	left := n
	done := make(chan bool)
	var chans [receivers]chan timed
	var begin time.Time
	for i := range chans {
		chans[i] = make(chan timed, 1<<16) // the sender must never wait
		go func(in <-chan timed) {
			var x int64
			for m := range in {
				x = work(x+1, steps)
				latencyNs[m.index] += int64(time.Since(begin) - m.due)
				if atomic.AddInt64(&left, -1) == 0 {
					done <- true
				}
			}
			atomic.AddInt64(&sink, x)
		}(chans[i])
	}
	begin = time.Now()
	go func() {
		runtime.LockOSThread()
		for i := int64(0); i < n; i++ {
			due := time.Duration(1000 + i*2*workNs/int64(workers))
			if far := due - time.Since(begin); far > 80000 {
				time.Sleep(far - 80000)
			}
			for time.Since(begin) < due {
			}
			chans[i%receivers] <- timed{i, due}
		}
	}()
	<-done
	r.elapsedNs = time.Since(begin).Nanoseconds()
	r.messages = n
	sort.Slice(latencyNs, func(i, j int) bool { return latencyNs[i] < latencyNs[j] })
	if latencyNs[0] == 0 {
		r.wrong = "a message was lost"
	}
	r.p50Ns, r.p99Ns = latencyNs[n/2], latencyNs[n*99/100]
	return r
}

func run(job string, workers int, scale int64) result {
	switch job {
	case "J1":
		return ring(100, 1, 0, scale)
	case "J2":
		return ring(503, 1, 0, scale)
	case "J3":
		return ring(1000, 100, 0, scale)
	case "J3b":
		return ring(1000, 100, 200, scale)
	case "J4":
		return ring(2, 1, 0, scale)
	case "J5":
		return fanIn(scale)
	case "J6":
		return spawn(scale)
	case "J8a":
		return latency(1000, workers, scale)
	case "J8b":
		return latency(100000, workers, scale)
	}
	fmt.Fprintln(os.Stderr, "no such job here")
	os.Exit(2)
	return result{}
}

func main() {
	job := os.Args[1]
	workers, _ := strconv.Atoi(os.Args[2])
	scale, _ := strconv.ParseInt(os.Args[3], 10, 64)
	runtime.GOMAXPROCS(workers)
	if strings.HasPrefix(job, "J8") {
		runtime.GOMAXPROCS(workers + 1) // one for the sender, which is no worker
	}
	if job != "J6" {
		run(job, workers, scale/5+1)
	}
	r := run(job, workers, scale)
	fmt.Printf("{\"peer\": \"go\", \"job\": \"%s\", \"workers\": %d, \"messages\": %d, ",
		job, workers, r.messages)
	fmt.Printf("\"elapsed_ns\": %d, \"ns_per_message\": %.3f, ", r.elapsedNs,
		float64(r.elapsedNs)/float64(r.messages))
	if r.bytesPerActor > 0 {
		fmt.Printf("\"bytes_per_actor\": %.1f, ", r.bytesPerActor)
	}
	if r.p50Ns > 0 {
		fmt.Printf("\"p50_ns\": %d, \"p99_ns\": %d, ", r.p50Ns, r.p99Ns)
	}
	if r.wrong != "" {
		fmt.Printf("\"wrong\": \"%s\", ", r.wrong)
	}
	fmt.Printf("\"ok\": %t}\n", r.wrong == "")
	if r.wrong != "" {
		os.Exit(1)
	}
}
