#!/bin/sh
# Run each flow once over a seeded stream, so that its loops are compiled before it is needed.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

run() {
    flow=$1
    shift
    okl-flow run "dataflows.$flow:flow" --log text "$@" 2>log || { cat log >&2; exit 1; }
}

okl-flow make-stream rings --events 3000 >events.jsonl
run classify
okl-flow make-stream waves --events 3000 >events.jsonl
run regress
okl-flow make-stream users --events 5000 --keys 30 >events.jsonl
run choose_kernel
for flow in per_user compare; do
    run "$flow" --recovery-dir "$flow" --state-dir "$flow/state"
done
