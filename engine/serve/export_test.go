package serve

import "slices"

// Endpoints lists the endpoints that are served, as METHOD path.
func Endpoints() []string {
	var out []string
	for _, rt := range (&Server{}).table() {
		out = append(out, rt.method+" "+rt.path)
	}
	slices.Sort(out)
	return out
}
