package serve

import (
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// tokensOnDisk is a tokens file that is read again when it changes.
type tokensOnDisk struct {
	path string
	log  *slog.Logger

	mu       sync.Mutex
	info     os.FileInfo // as of the last reading
	at       time.Time   // of the last reading
	data     [sha256.Size]byte
	complain string // fault that has been logged
}

// settled is how old a file's time must be when it is read for an equal time to mean an equal
// content: file systems keep times in steps, the coarsest of two seconds.
const settled = 2 * time.Second

// OpenAuth is NewAuth with the tokens of the file at path, which must admit somebody. The file is
// looked at with every request and read again when it has changed, so a token that was taken out
// admits nobody from then on. A changed file with a fault changes nothing: the tokens before stay,
// and log is told of the fault once. nil discards that.
func OpenAuth(path string, o AuthOptions, log *slog.Logger) (*Auth, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &tokensOnDisk{path: path, log: log}
	info, data, err := f.read()
	if err != nil {
		return nil, err
	}
	tokens, err := ParseTokens(path, data)
	if err != nil {
		return nil, err
	}
	f.info, f.at, f.data = info, time.Now(), sha256.Sum256(data)
	o.Tokens = tokens
	a := NewAuth(o)
	a.file = f
	return a, nil
}

// read returns the file's content and what was known of it before it was read.
func (f *tokensOnDisk) read() (os.FileInfo, []byte, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close() //nolint:errcheck // it was read from alone
	info, err := in.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(in)
	return info, data, err
}

// Reload reads the tokens file if it has changed. An error leaves the tokens as they were. Lookup
// does the same by itself; for an Auth without a file it does nothing.
func (a *Auth) Reload() error {
	if a.file == nil {
		return nil
	}
	f := a.file
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.reload(a)
	switch {
	case err == nil:
		f.complain = ""
	case err.Error() != f.complain:
		f.complain = err.Error()
		f.log.Error("the tokens file has a fault, the tokens before it stay in force", "error", err.Error())
	}
	return err
}

func (f *tokensOnDisk) reload(a *Auth) error {
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if f.complain == "" && os.SameFile(info, f.info) && info.Size() == f.info.Size() && info.ModTime().Equal(f.info.ModTime()) &&
		f.at.Sub(info.ModTime()) > settled {
		return nil
	}
	info, data, err := f.read()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if sum == f.data {
		f.info, f.at = info, time.Now()
		return nil
	}
	tokens, err := parseTokens(f.path, data)
	if err != nil {
		return err
	}
	a.admit(tokens)
	f.info, f.at, f.data = info, time.Now(), sum
	f.log.Info("the tokens file was read again", "entries", len(tokens))
	return nil
}
