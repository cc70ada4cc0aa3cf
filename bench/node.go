package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Node is a running peers/node/peers.mjs.
type Node struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// StartNode writes the data to dir and starts the script in folder, whose packages must be
// installed (npm install), with the named peers.
func StartNode(ctx context.Context, folder, dir string, rows, queries [][]float32, texts, words []string, k, depth int, peers ...string) (*Node, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	meta, err := json.Marshal(map[string]int{"n": len(rows), "dim": len(rows[0]), "queries": len(queries), "k": k, "depth": depth})
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{
		"meta.json": meta, "rows.f32": floats(rows), "queries.f32": floats(queries),
		"texts.txt": []byte(strings.Join(texts, "\n")), "words.txt": []byte(strings.Join(words, "\n")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return nil, err
		}
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", append([]string{"peers.mjs", dir}, peers...)...)
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	cmd.Env = append(os.Environ(), "LANCE_LOG=error", "RUST_LOG=error")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &Node{cmd, in, bufio.NewScanner(out)}
	if !n.out.Scan() || n.out.Text() != "ready" {
		return nil, fmt.Errorf("node peers did not start: %q: %w", n.out.Text(), n.Close())
	}
	return n, nil
}

func floats(rows [][]float32) []byte {
	b := make([]byte, 0, 4*len(rows)*len(rows[0]))
	for _, r := range rows {
		for _, v := range r {
			b, _ = binary.Append(b, binary.LittleEndian, v) // fails for no float32
		}
	}
	return b
}

// Query asks the named peer query i and returns the rows and the time it took there.
func (n *Node) Query(peer string, i int) ([]int, time.Duration, error) {
	if _, err := fmt.Fprintf(n.in, "%s %d\n", peer, i); err != nil {
		return nil, 0, err
	}
	if !n.out.Scan() {
		return nil, 0, fmt.Errorf("node peer %s: no answer: %w", peer, n.out.Err())
	}
	var numbers []int
	for f := range strings.FieldsSeq(n.out.Text()) {
		v, err := strconv.Atoi(f)
		if err != nil {
			return nil, 0, fmt.Errorf("node peer %s: %w", peer, err)
		}
		numbers = append(numbers, v)
	}
	if len(numbers) == 0 {
		return nil, 0, fmt.Errorf("node peer %s: empty answer", peer)
	}
	return numbers[1:], time.Duration(numbers[0]), nil
}

// Close ends the script.
func (n *Node) Close() error {
	if err := n.in.Close(); err != nil {
		return err
	}
	return n.cmd.Wait()
}
