#!/bin/bash
# Records tests/data/recorded/*.collapsed again: stacks of real services under load, with every variant and every engine.
# The rules of categories.toml are tested on them. Needs `make build` in CHECKOUT, root or perf events that this user may
# open, and eight minutes on an idle machine.
#
#   tests/record-fixtures.sh [CHECKOUT] [NAME…]
#
# A line is `[thread];frame;…;frame value`. Files of CPU stacks are cut to `bytes`, others to 15000 bytes. The largest
# stack of each kind of thread and of each method is kept.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(realpath "${1:-$here/../..}")
shift || true
java=$("$checkout/bin/find-jdk")/bin/java
profile=$here/../target/release/profile
[ -x "$profile" ] || profile=$here/../target/debug/profile
export PROFILE_LIB=$here/../target/lib
loadgen=${LOADGEN:-$checkout/loadgen/target/release/loadgen}
jar=$checkout/service/server/target/service/lsmlab-server.jar
scripts=$checkout/loadgen/scripts
out=$here/data/recorded
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$out"

# name variant engine events script rate flush_threshold_bytes bytes
while read -r name variant engine events script rate flush bytes; do
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  rm -rf "$work/run" && mkdir -p "$work/run/out" "$work/run/store"
  if [[ $script != put.lua ]]; then
    [ -d "$work/dataset" ] || "$java" @"$checkout/service/jvm.options" -jar "$jar" load-dataset --dir "$work/dataset" --pairs 200000 --value-bytes 500 --seed 1 --tables 4 >"$work/dataset.json" 2>/dev/null
    cp -r "$work/dataset/." "$work/run/store/"
  fi
  printf 'data_port: 18480\nadmin_port: 18481\ndata_dir: %s\nvariant: %s\nengine: "%s"\nflush_threshold_bytes: %s\n' \
    "$work/run/store" "$variant" "$engine" "$flush" >"$work/run/service.yaml"
  "$java" @"$checkout/service/jvm.options" -Xms512m -Xmx512m -jar "$jar" serve --config "$work/run/service.yaml" >"$work/run/log" 2>&1 &
  service=$!
  for _ in $(seq 200); do grep -q '^ready' "$work/run/log" && break; sleep 0.1; done
  grep -q '^ready' "$work/run/log" || { cat "$work/run/log" >&2; exit 1; }
  if [[ $script == range ]]; then
    # Short connections, so that the stacks contain accept and close.
    for _ in $(seq 60); do
      timeout 12 curl -s -o /dev/null 'http://127.0.0.1:18480/v0/entities?start=k000000000&end=k000100000'
      curl -s -o /dev/null -H 'Connection: close' 'http://127.0.0.1:18480/v0/entity?id=k[000000000-000000299]'
    done &
  else
    "$loadgen" -t1 -c16 -d10s -R"$rate" -s "$scripts/$script" http://127.0.0.1:18480 -- pairs=200000 $([ "$script" = get.lua ] || echo value_bytes=500) >"$work/run/load.txt" 2>&1 &
  fi
  load=$!
  sleep 2
  "$profile" start --pid $service --out "$work/run/out" --events "$events" --interval 500us
  sleep 6
  curl -s -o /dev/null -X POST http://127.0.0.1:18481/flush || true
  "$profile" stop --pid $service --out "$work/run/out"
  if [[ $script == range ]]; then kill $load; wait $load || true; else wait $load || cat "$work/run/load.txt" >&2; fi
  kill $service && wait $service || true
  "$profile" convert --out "$work/run/out" --title "$name" --events "$events" 2>&1
  for event in ${events//,/ }; do
    python3 - "$work/run/out/$event.samples.gz" "$out/$name.$event.collapsed" "$([ "$event" = cpu ] && echo "$bytes" || echo 15000)" <<'PYTHON'
import collections, gzip, itertools, re, sys
frames, threads, nodes, sums = [], [], [], collections.Counter()
for line in gzip.open(sys.argv[1], "rt"):
    kind, *fields = line.rstrip("\n").split("\t")
    if kind == "F": frames.append(fields[0])
    elif kind == "T": threads.append(re.sub(r" tid=\d+", "", fields[0]))
    elif kind == "N": nodes.append((int(fields[0]), int(fields[1])))
    elif kind == "S":
        stack, node = [], int(fields[2])
        while node:
            node, frame = nodes[node - 1]
            stack.append(frames[frame - 1])
        sums[threads[int(fields[1]) - 1] + ";" + ";".join(reversed(stack))] += int(fields[4])
# first one stack of each kind of thread, so that none is lost; then one of each method that a rule may name
threads_seen, methods_seen, kept = set(), set(), ([], [], [])
for stack, value in sums.most_common():
    thread, *names = re.sub(r"_\[.\]", "", stack).split(";")
    kind = re.sub(r"\d+", "", thread), *names[:3]
    ours = [name for name in names if name.startswith(("one/nio/", "lsmlab/", "sun/nio/ch/", "rocksdb::"))]
    method = re.sub(r"\$\$Lambda.*", "", ours[-1]) if ours else ""
    kept[0 if kind not in threads_seen else 1 if method not in methods_seen else 2].append((stack, value))
    threads_seen.add(kind)
    methods_seen.add(method)
room = int(sys.argv[3])
with open(sys.argv[2], "w") as out:
    for stack, value in itertools.chain(*kept):
        line = f"{stack} {value}\n"
        if len(line) <= room:
            out.write(line)
            room -= len(line)
PYTHON
  done
done <<'TABLE'
sync-put sync lsm cpu,alloc put.lua 15000 4194304 90000
rocksdb-put array-queue rocksdb cpu put.lua 20000 4194304 90000
range sync lsm cpu range 0 67108864 90000
virtual-mixed virtual-threads lsm cpu mixed.lua 10000 4194304 90000
stack-put stack lsm cpu,alloc,lock put.lua 15000 4194304 90000
textbook-put executor-stack textbook cpu,alloc,lock put.lua 15000 4194304 30000
textbook-mixed executor-array textbook cpu,alloc mixed.lua 8000 4194304 30000
mvstore-mixed sync mvstore cpu mixed.lua 8000 4194304 90000
sync-get sync lsm cpu,alloc get.lua 20000 67108864 15000
per-core-get per-core lsm cpu get.lua 15000 67108864 15000
queue-get queue lsm cpu,lock get.lua 20000 67108864 15000
queue-batch-put queue-batch lsm cpu put.lua 10000 4194304 15000
array-queue-get array-queue lsm cpu,lock get.lua 15000 67108864 15000
adaptive-lifo-get adaptive-lifo lsm cpu get.lua 15000 67108864 15000
ms-queue-get ms-queue lsm cpu get.lua 15000 67108864 15000
mpmc-get mpmc lsm cpu get.lua 15000 67108864 15000
disruptor-get disruptor lsm cpu get.lua 15000 67108864 15000
sharded-put sharded lsm cpu put.lua 15000 4194304 15000
priority-mixed priority lsm cpu mixed.lua 10000 4194304 15000
executor-get executor lsm cpu get.lua 15000 67108864 15000
executor-array-get executor-array lsm cpu,lock get.lua 15000 67108864 15000
executor-stack-get executor-stack lsm cpu,lock get.lua 15000 67108864 15000
executor-deque-get executor-deque lsm cpu get.lua 15000 67108864 15000
executor-ms-queue-get executor-ms-queue lsm cpu get.lua 15000 67108864 15000
one-nio-workers-get one-nio-workers lsm cpu get.lua 15000 67108864 15000
synchronous-get synchronous lsm cpu get.lua 15000 67108864 15000
fork-join-get fork-join lsm cpu get.lua 15000 67108864 15000
rocksdb-get array-queue rocksdb cpu,alloc get.lua 15000 4194304 15000
rocksdb-tuned-mixed sync rocksdb-tuned cpu mixed.lua 10000 4194304 15000
memory-mixed sync memory cpu mixed.lua 15000 67108864 15000
null-get sync null cpu get.lua 20000 67108864 15000
TABLE
