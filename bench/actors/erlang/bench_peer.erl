%% SPDX-License-Identifier: MIT
%%
%% The jobs on Erlang processes: JOB WORKERS SCALE, the schedulers set on erl's
%% command line. A shorter run comes first and is not measured (but for J6,
%% whose memory shows in a fresh node alone).
-module(bench_peer).
-export([main/1]).

-define(PRODUCERS, 8).
-define(RECEIVERS, 64).

main([Job, Workers, Scale]) ->
    W = list_to_integer(Workers),
    S = list_to_integer(Scale),
    Job =:= "J6" orelse run(Job, W, max(1, S div 5)),
    {N, Ns, More, Wrong} = run(Job, W, S),
    io:format("{\"peer\": \"erlang\", \"job\": \"~s\", \"workers\": ~b, \"messages\": ~b, "
              "\"elapsed_ns\": ~b, \"ns_per_message\": ~.3f, ~s",
              [Job, W, N, Ns, Ns / N, More]),
    Wrong =:= ok orelse io:format("\"wrong\": \"~s\", ", [Wrong]),
    io:format("\"ok\": ~s}~n", [Wrong =:= ok]),
    halt(case Wrong of ok -> 0; _ -> 1 end).

run("J1", _, S) -> ring(100, 1, 0, S);
run("J2", _, S) -> ring(503, 1, 0, S);
run("J3", _, S) -> ring(1000, 100, 0, S);
run("J3b", _, S) -> ring(1000, 100, 200, S);
run("J4", _, S) -> ring(2, 1, 0, S);
run("J5", _, S) -> fan_in(S);
run("J6", _, S) -> spawn_many(S);
run("J8a", W, S) -> latency(1000, W, S);
run("J8b", W, S) -> latency(100000, W, S).

now_ns() -> erlang:monotonic_time(nanosecond).

work(X, 0) -> X;
work(X, Steps) -> work((X * 16807 + 1) band 16#7fffffff, Steps - 1).

%% How many steps take so long here.
work_steps(0) -> 0;
work_steps(Ns) ->
    Trial = 20000,
    Best = lists:min([trial(Trial) || _ <- lists:seq(1, 40)]),
    max(1, Ns * Trial div max(1, Best)).

trial(Steps) ->
    Start = now_ns(),
    work(1, Steps),
    now_ns() - Start.

%% ------------------------------------------------------------------ ring ---

ring(N, Tokens, WorkNs, Scale) ->
    Rounds = (Scale + N * Tokens - 1) div (N * Tokens),
    Main = self(),
    Steps = work_steps(WorkNs),
    Nodes = [spawn_link(fun() -> node_start(Main, Steps) end) || _ <- lists:seq(1, N)],
    connect(Nodes, hd(Nodes)),
    Origins = [lists:nth(1 + K * N div Tokens, Nodes) || K <- lists:seq(0, Tokens - 1)],
    Start = now_ns(),
    [O ! {token, Rounds * N} || O <- Origins],
    [receive token_done -> ok end || _ <- Origins],
    Ns = now_ns() - Start,
    Counts = [ask(P) || P <- Nodes],
    Wrong = case [C || C <- Counts, C =/= Rounds * Tokens] of
        [] -> ok;
        _ -> "a node counted wrong"
    end,
    {Rounds * N * Tokens, Ns, "", Wrong}.

connect([Last], First) -> Last ! {next, First};
connect([P | [Q | _] = Rest], First) -> P ! {next, Q}, connect(Rest, First).

ask(P) ->
    P ! {stop, self()},
    receive {count, P, C} -> C end.

node_start(Main, Steps) ->
    receive {next, Next} -> node(Main, Next, Steps, 0, 1) end.

node(Main, Next, Steps, Count, X) ->
    receive
        {token, 1} ->
            Main ! token_done,
            node(Main, Next, Steps, Count + 1, work(X, Steps));
        {token, Left} ->
            Y = work(X, Steps),
            Next ! {token, Left - 1},
            node(Main, Next, Steps, Count + 1, Y);
        {stop, From} ->
            From ! {count, self(), Count}
    end.

%% ---------------------------------------------------------------- fan-in ---

fan_in(Scale) ->
    Share = (Scale + ?PRODUCERS - 1) div ?PRODUCERS,
    Main = self(),
    Consumer = spawn_link(fun() ->
        Main ! {consumed, consume(?PRODUCERS, lists:duplicate(?PRODUCERS, 0), true)}
    end),
    Producers = [spawn_link(fun() -> receive go -> produce(Consumer, I, 0, Share) end end)
                 || I <- lists:seq(1, ?PRODUCERS)],
    Start = now_ns(),
    [P ! go || P <- Producers],
    {Taken, IsInOrder} = receive {consumed, R} -> R end,
    Ns = now_ns() - Start,
    Wrong = case {IsInOrder, [T || T <- Taken, T =/= Share]} of
        {true, []} -> ok;
        {true, _} -> "the consumer counted wrong";
        _ -> "a message is missing, doubled or out of order"
    end,
    {Share * ?PRODUCERS, Ns, "", Wrong}.

produce(Consumer, I, N, Share) when N + 1 =:= Share ->
    Consumer ! {item, I, N, true};
produce(Consumer, I, N, Share) ->
    Consumer ! {item, I, N, false},
    produce(Consumer, I, N + 1, Share).

%% The counts are arguments of the loop: to look one up in a list costs more than
%% to receive a message.
consume(Left, [A, B, C, D, E, F, G, H], Ok) -> consume(Left, A, B, C, D, E, F, G, H, Ok).

consume(0, A, B, C, D, E, F, G, H, Ok) -> {[A, B, C, D, E, F, G, H], Ok};
consume(L, A, B, C, D, E, F, G, H, Ok) ->
    receive
        {item, 1, N, End} -> consume(left(L, End), A + 1, B, C, D, E, F, G, H, Ok and (N =:= A));
        {item, 2, N, End} -> consume(left(L, End), A, B + 1, C, D, E, F, G, H, Ok and (N =:= B));
        {item, 3, N, End} -> consume(left(L, End), A, B, C + 1, D, E, F, G, H, Ok and (N =:= C));
        {item, 4, N, End} -> consume(left(L, End), A, B, C, D + 1, E, F, G, H, Ok and (N =:= D));
        {item, 5, N, End} -> consume(left(L, End), A, B, C, D, E + 1, F, G, H, Ok and (N =:= E));
        {item, 6, N, End} -> consume(left(L, End), A, B, C, D, E, F + 1, G, H, Ok and (N =:= F));
        {item, 7, N, End} -> consume(left(L, End), A, B, C, D, E, F, G + 1, H, Ok and (N =:= G));
        {item, 8, N, End} -> consume(left(L, End), A, B, C, D, E, F, G, H + 1, Ok and (N =:= H))
    end.

left(L, true) -> L - 1;
left(L, false) -> L.

%% ----------------------------------------------------------------- spawn ---

%% Each actor holds a place in an array of counters, so none is counted twice.
spawn_many(N) ->
    Main = self(),
    Slots = counters:new(N, []),
    Left = atomics:new(1, []),
    atomics:put(Left, 1, N),
    Before = resident(),
    Start = now_ns(),
    Root = spawn_link(fun() -> spawner(Main, Slots, Left, N) end),
    receive all_done -> ok end,
    Ns = now_ns() - Start,
    Bytes = (resident() - Before) / N,
    unlink(Root),
    Wrong = case check(Slots, N) of true -> ok; false -> "an actor counted wrong" end,
    {N, Ns, io_lib:format("\"bytes_per_actor\": ~.1f, ", [Bytes]), Wrong}.

spawner(_, _, _, 0) -> ok;
spawner(Main, Slots, Left, I) ->
    P = spawn(fun() -> counter(Main, Slots, Left, I) end),
    P ! first,
    spawner(Main, Slots, Left, I - 1).

counter(Main, Slots, Left, I) ->
    receive
        first ->
            counters:add(Slots, I, 1),
            case atomics:sub_get(Left, 1, 1) of
                0 -> Main ! all_done;
                _ -> ok
            end,
            counter(Main, Slots, Left, I)
    end.

check(_, 0) -> true;
check(Slots, I) -> counters:get(Slots, I) =:= 1 andalso check(Slots, I - 1).

resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = binary:split(Text, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.

%% --------------------------------------------------------------- latency ---

latency(WorkNs, Workers, N) ->
    Main = self(),
    Steps = work_steps(WorkNs),
    Slots = atomics:new(N, []),
    Left = atomics:new(1, []),
    atomics:put(Left, 1, N),
    Receivers = list_to_tuple([spawn_link(fun() -> receiver(Main, Slots, Left, Steps, 1) end)
                               || _ <- lists:seq(1, ?RECEIVERS)]),
    Start = now_ns() + 1000,
    generate(Receivers, Start, 2 * WorkNs, Workers, 0, N),
    receive all_done -> ok end,
    Ns = now_ns() - Start,
    Sorted = lists:sort([atomics:get(Slots, I) || I <- lists:seq(1, N)]),
    Wrong = case hd(Sorted) of 0 -> "a message was lost"; _ -> ok end,
    Of = list_to_tuple(Sorted),
    {N, Ns, io_lib:format("\"p50_ns\": ~b, \"p99_ns\": ~b, ",
                          [element(1 + N div 2, Of), element(1 + N * 99 div 100, Of)]), Wrong}.

generate(_, _, _, _, N, N) -> ok;
generate(Receivers, Start, Interval, Workers, I, N) ->
    Due = Start + I * Interval div Workers,
    wait_until(Due),
    element(1 + I rem ?RECEIVERS, Receivers) ! {timed, I + 1, Due},
    generate(Receivers, Start, Interval, Workers, I + 1, N).

%% receive ... after counts whole milliseconds: it would be too coarse.
wait_until(Due) ->
    case now_ns() < Due of
        true -> wait_until(Due);
        false -> ok
    end.

receiver(Main, Slots, Left, Steps, X) ->
    receive
        {timed, I, Due} ->
            Y = work(X, Steps),
            atomics:add(Slots, I, now_ns() - Due),
            case atomics:sub_get(Left, 1, 1) of
                0 -> Main ! all_done;
                _ -> ok
            end,
            receiver(Main, Slots, Left, Steps, Y)
    end.
