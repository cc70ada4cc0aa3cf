package dense

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed792a4543/assay/index"
)

// TestReference compares ids, order and scores with an exhaustive query over the same vectors
// in a chromem-go collection.
func TestReference(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("chromem-go's scores have other last digits where the compiler fuses multiplication and addition")
	}
	for _, kind := range kinds {
		for _, kern := range machineKernels() {
			t.Run(kind+"/"+kern.name, func(t *testing.T) {
				const dim, n = 96, 3000
				rows := dataset(kind, 7, n, dim)
				x := open(t, dim, rows, Options{kernels: kern})
				docs := make([]Document, n)
				filters := map[string]*index.Filter{}
				for _, every := range []int{1, 3, 50, 2000} {
					key := strconv.Itoa(every)
					filters[key] = filterOf(n, every, 7)
					for i := range docs {
						if docs[i].Metadata == nil {
							docs[i].Metadata = map[string]string{}
						}
						docs[i].Metadata[key] = strconv.FormatBool(filters[key].Has(uint32(i)))
					}
				}
				ref, err := x.Reference(t.Context(), docs)
				if err != nil {
					t.Fatal(err)
				}
				for qi, q := range queriesFor(rows, 7, dim) {
					for _, k := range []int{1, 10, n + 5} {
						for every := range filters {
							want, err := ref.Query(t.Context(), q, k, map[string]string{every: "true"}, nil)
							if err != nil {
								t.Fatal(err)
							}
							got, err := x.SearchVector(t.Context(), q, k, filters[every])
							if err != nil {
								t.Fatal(err)
							}
							if diff := cmp.Diff(want, got); diff != "" {
								t.Fatalf("query %d, k %d, filter 1/%s (-chromem +got):\n%s", qi, k, every, diff)
							}
						}
					}
				}
			})
		}
	}
}

func TestReferenceFails(t *testing.T) {
	x := open(t, 3, [][]float32{{1, 0, 0}, nil, {0, 1, 0}}, Options{})
	ref, err := x.Reference(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx   context.Context
		query []float32
		k     int
		want  error
	}{
		"cancelled":       {ctx, []float32{1, 0, 0}, 1, context.Canceled},
		"dimension":       {t.Context(), []float32{1, 0}, 1, index.ErrDimension},
		"k":               {t.Context(), []float32{1, 0, 0}, 0, nil},
		"zero vector":     {t.Context(), []float32{0, 0, 0}, 1, nil},
		"more than there": {t.Context(), []float32{1, 0, 0}, 9, fmt.Errorf("none")},
	} {
		list, err := ref.Query(tt.ctx, tt.query, tt.k, nil, nil)
		if name == "more than there" {
			if err != nil || len(list) != 2 {
				t.Errorf("%s: %v, %v, want two", name, list, err)
			}
			continue
		}
		if err == nil || list != nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, %v, want %v", name, list, err, tt.want)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ref.Query(t.Context(), []float32{1, 0, 0}, 1, nil, nil); !errors.Is(err, index.ErrClosed) {
		t.Errorf("closed: %v, want index.ErrClosed", err)
	}
	if _, err := x.Reference(t.Context(), nil); !errors.Is(err, index.ErrClosed) {
		t.Errorf("closed: %v, want index.ErrClosed", err)
	}
}
