#!/bin/sh
# Installs the Weaviate server and runs one or three nodes of it on the loopback interface.
#
#   cluster.sh install           build the server with the Go tool (minutes the first time)
#   cluster.sh start N [node]    start N nodes (1 or 3), or one of them again
#   cluster.sh kill node         kill -9 of one node (0, 1 or 2)
#   cluster.sh stop              stop all nodes and forget their data
#   cluster.sh nodes             print the addresses as settings of assay-remote
#
# The server binds its gRPC port and the port between nodes to all interfaces, whatever --host
# says. Where that matters, run everything in a network namespace of its own, such as
# `unshare -rn sh -c 'ip link set lo up; go test -run Live .'`.
#
# Environment: ASSAY_WEAVIATE names the server (default $ASSAY_CLUSTER/bin/weaviate-server),
# ASSAY_CLUSTER the folder of data, logs and process ids (default ./.cluster), ASSAY_PORT the
# first of 40 free ports (default 21800).
set -eu

version=v1.35.2
dir=${ASSAY_CLUSTER:-$PWD/.cluster}
server=${ASSAY_WEAVIATE:-$dir/bin/weaviate-server}
base=${ASSAY_PORT:-21800}

# Node i has the ports base+10i: http, +1 grpc, +2 gossip, +3 data, +4 raft, +5 raft rpc, +6
# profiling. Data is gossip + 1, as the server expects.
port() { echo $((base + 10 * $1 + $2)); }

start_node() { # start_node i n
	i=$1 n=$2
	join=
	k=0
	while [ "$k" -lt "$n" ]; do
		join=$join${join:+,}node-$k:$(port $k 4)
		k=$((k + 1))
	done
	mkdir -p "$dir/node-$i"
	if [ "$i" -gt 0 ]; then
		CLUSTER_JOIN=127.0.0.1:$(port 0 2)
		export CLUSTER_JOIN
	elif [ "${3:-}" = again ]; then
		CLUSTER_JOIN=127.0.0.1:$(port 1 2)
		export CLUSTER_JOIN
	else
		unset CLUSTER_JOIN || true
	fi
	CLUSTER_HOSTNAME=node-$i CLUSTER_IN_LOCALHOST=true CLUSTER_ADVERTISE_ADDR=127.0.0.1 CLUSTER_BIND_ADDR=127.0.0.1 \
	CLUSTER_GOSSIP_BIND_PORT=$(port $i 2) CLUSTER_DATA_BIND_PORT=$(port $i 3) \
	RAFT_PORT=$(port $i 4) RAFT_INTERNAL_RPC_PORT=$(port $i 5) RAFT_JOIN=$join RAFT_BOOTSTRAP_EXPECT=$n \
	GRPC_PORT=$(port $i 1) GO_PROFILING_PORT=$(port $i 6) PROFILING_PORT=$(port $i 6) \
	PERSISTENCE_DATA_PATH=$dir/node-$i/data \
	AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true DEFAULT_VECTORIZER_MODULE=none ENABLE_MODULES= \
	ENABLE_API_BASED_MODULES=false DISABLE_TELEMETRY=true PROMETHEUS_MONITORING_ENABLED=false \
	PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=1 QUERY_MAXIMUM_RESULTS=100000 LOG_LEVEL=warning GOMEMLIMIT=2GiB LIMIT_RESOURCES=false \
	DISK_USE_READONLY_PERCENTAGE=99 DISK_USE_WARNING_PERCENTAGE=98 \
	nohup "$server" --scheme http --host 127.0.0.1 --port $(port $i 0) >>"$dir/node-$i/log" 2>&1 </dev/null &
	echo $! >"$dir/node-$i/pid"
}

wait_ready() { # wait_ready i
	t=0
	until curl -fs -o /dev/null "http://127.0.0.1:$(port $1 0)/v1/.well-known/ready"; do
		t=$((t + 1))
		if [ $t -gt 240 ] || ! kill -0 "$(cat "$dir/node-$1/pid")" 2>/dev/null; then
			echo "node $1 did not start:" >&2
			tail -20 "$dir/node-$1/log" >&2
			exit 1
		fi
		sleep 0.5
	done
	# Another server on the same port would have answered.
	if ! kill -0 "$(cat "$dir/node-$1/pid")" 2>/dev/null; then
		echo "node $1 ended; is port $(port $1 0) taken?" >&2
		tail -20 "$dir/node-$1/log" >&2
		exit 1
	fi
}

case ${1:-} in
install)
	mkdir -p "$dir/bin"
	GOFLAGS= CGO_ENABLED=0 GOBIN=$(cd "$dir/bin" && pwd) go install "github.com/weaviate/weaviate/cmd/weaviate-server@$version"
	;;
start)
	n=${2:?how many nodes}
	[ -x "$server" ] || { echo "no server at $server: run $0 install" >&2; exit 1; }
	if [ -n "${3:-}" ]; then
		start_node "$3" "$n" again
		wait_ready "$3"
		exit
	fi
	# The first node stands before its joiners come; none is ready before a majority is there.
	i=0
	while [ $i -lt "$n" ]; do
		start_node $i "$n"
		[ $i -gt 0 ] || sleep 2
		i=$((i + 1))
	done
	i=0
	while [ $i -lt "$n" ]; do
		wait_ready $i
		i=$((i + 1))
	done
	;;
kill)
	kill -9 "$(cat "$dir/node-${2:?which node}/pid")"
	rm "$dir/node-$2/pid"
	;;
stop)
	for p in "$dir"/node-*/pid; do
		[ -f "$p" ] || continue
		kill -9 "$(cat "$p")" 2>/dev/null || true
	done
	rm -rf "$dir"/node-*
	;;
nodes)
	echo nodes:
	for d in "$dir"/node-*; do
		i=${d##*-}
		echo "  - {http: 127.0.0.1:$(port "$i" 0), grpc: 127.0.0.1:$(port "$i" 1)}"
	done
	;;
*)
	sed -n '2,/^set/p' "$0" | sed '$d;s/^# \{0,1\}//' >&2
	exit 2
	;;
esac
