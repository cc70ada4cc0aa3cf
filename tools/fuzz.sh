#!/usr/bin/env bash
# Runs every fuzz target of the module for a time, two targets at once.
# usage: tools/fuzz.sh TIME
set -euo pipefail
time=${1:-10s}
# One line per target: package and name. go test -list compiles each package once.
go test -list '^Fuzz' ./... | awk '
  /^Fuzz/ { names[n++] = $1 }
  /^ok/   { for (i = 0; i < n; i++) print $2, names[i]; n = 0 }
' | xargs -P 2 -L 1 bash -c '
  out=$(go test -run "^$" -fuzz "^$1\$" -fuzztime '"$time"' -parallel 1 "$0" 2>&1) &&
    echo "ok   $0 $1" || { echo "FAIL $0 $1"; echo "$out"; exit 255; }'
