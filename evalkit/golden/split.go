package golden

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// SplitOptions tunes Split. The zero value puts 30 % on the holdout side with seed 0.
type SplitOptions struct {
	Holdout float64 // share of the questions, between 0 and 1; 0 means 0.3
	Seed    uint64
	// NearDuplicate is the similarity from which questions stay on one side; 0.8 if 0.
	NearDuplicate float64
}

// Split returns a copy of the set with every question but the retired ones put on a side.
// Questions are stratified by answerable and their slices, so that each stratum has its share
// on both sides as far as whole questions allow, and near-duplicates go together. The same seed
// and questions give the same sides, whatever their order in the file.
func Split(set *Set, o SplitOptions) (*Set, error) {
	if o.Holdout == 0 {
		o.Holdout = 0.3
	}
	if !(o.Holdout > 0 && o.Holdout < 1) {
		return nil, fmt.Errorf("split: share of the holdout %v is not between 0 and 1", o.Holdout)
	}
	if o.NearDuplicate <= 0 {
		o.NearDuplicate = 0.8
	}
	out := *set
	out.Questions = slices.Clone(set.Questions)

	strata := map[string][][]int{}
	var keys []string
	for _, family := range families(set, o.NearDuplicate) {
		key := stratum(&set.Questions[family[0]])
		if strata[key] == nil {
			keys = append(keys, key)
		}
		strata[key] = append(strata[key], family)
	}
	slices.Sort(keys)
	rng := rand.New(rand.NewPCG(o.Seed, 0x5eed))
	owed := 0.0 // share of the holdout that rounding has not handed out yet
	for _, key := range keys {
		list := strata[key]
		slices.SortFunc(list, func(a, b []int) int {
			return strings.Compare(set.Questions[a[0]].ID, set.Questions[b[0]].ID)
		})
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		size := 0
		for _, family := range list {
			size += len(family)
		}
		owed += o.Holdout * float64(size)
		want := int(math.Round(owed))
		taken := 0
		for _, family := range list {
			side := Dev
			if taken+len(family) <= want {
				side = Holdout
				taken += len(family)
			}
			for _, i := range family {
				out.Questions[i].Split = side
			}
		}
		owed -= float64(taken)
	}
	return &out, nil
}

// stratum names the part of the set a question belongs to.
func stratum(q *Question) string {
	s := slices.Clone(q.Slice)
	slices.Sort(s)
	return fmt.Sprintf("%v\x00%s", q.Answerable, strings.Join(s, "\x00"))
}

// families groups near-duplicates, members and groups by id. Retired questions are left out.
func families(set *Set, similarity float64) [][]int {
	parent := make([]int, len(set.Questions))
	for i := range parent {
		parent[i] = i
	}
	var root func(int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	for _, p := range NearDuplicates(set, similarity) {
		parent[root(p.B)] = root(p.A)
	}
	members := map[int][]int{}
	for i := range set.Questions {
		if set.Questions[i].State != Retired {
			members[root(i)] = append(members[root(i)], i)
		}
	}
	out := make([][]int, 0, len(members))
	byID := func(a, b int) int { return strings.Compare(set.Questions[a].ID, set.Questions[b].ID) }
	for _, m := range members {
		slices.SortFunc(m, byID)
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b []int) int { return byID(a[0], b[0]) })
	return out
}
