#!/bin/sh
# Runs the tests of the clients for embedding and chat servers against a real server: Ollama, from the
# path or built with the Go toolchain (needs gcc and g++), with models that the caller has as GGUF
# files. Nothing outside the working folder is changed, and the server listens on loopback alone.
#
#   index/embed/realserver.sh EMBEDDING.gguf CHAT.gguf [arguments of go test]
#
# ASSAY_REALSERVER_DIR   working folder, kept for the next time (default: a new one, removed after)
# OLLAMA_VERSION         version to build
# ASSAY_REALSERVER_PORT  port to listen on
set -eu

if [ $# -lt 2 ] || [ ! -f "$1" ] || [ ! -f "$2" ]; then
	echo "usage: $0 EMBEDDING.gguf CHAT.gguf [arguments of go test]" >&2
	exit 2
fi
embedding=$(realpath "$1")
chat=$(realpath "$2")
shift 2
cd "$(dirname "$0")/../.."

version=${OLLAMA_VERSION:-v0.11.4} # the last that builds from its Go module alone
dir=${ASSAY_REALSERVER_DIR:-}
keep=$dir
[ -n "$dir" ] || dir=$(mktemp -d)
mkdir -p "$dir/bin" "$dir/models"
dir=$(realpath "$dir")
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	[ -n "$keep" ] || rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

if [ -x "$dir/bin/ollama" ]; then
	ollama=$dir/bin/ollama
elif ! ollama=$(command -v ollama); then
	echo "building ollama $version" >&2
	GOFLAGS= GOWORK=off CGO_ENABLED=1 GOBIN=$dir/bin go install "github.com/ollama/ollama@$version"
	ollama=$dir/bin/ollama
fi

OLLAMA_HOST=127.0.0.1:${ASSAY_REALSERVER_PORT:-11499}
OLLAMA_MODELS=$dir/models
export OLLAMA_HOST OLLAMA_MODELS
HOME=$dir "$ollama" serve >"$dir/server.log" 2>&1 &
server=$!
tries=0
until "$ollama" list >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
		echo "the server does not start:" >&2
		tail -n 20 "$dir/server.log" >&2
		exit 1
	fi
	sleep 0.2
done
for model in "assay-embedding $embedding" "assay-chat $chat"; do
	name=${model%% *}
	printf 'FROM %s\n' "${model#* }" >"$dir/$name.modelfile"
	"$ollama" create "$name" -f "$dir/$name.modelfile" >"$dir/create.log" 2>&1 || {
		cat "$dir/create.log" >&2
		exit 1
	}
done

ASSAY_OPENAI_URL=http://$OLLAMA_HOST/v1 ASSAY_OPENAI_MODEL=assay-embedding ASSAY_OPENAI_CHAT_MODEL=assay-chat \
	go test -count=1 -run RealServer "$@" ./index/embed/openai ./engine
