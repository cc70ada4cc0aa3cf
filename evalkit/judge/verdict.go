package judge

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/seed792a4543/assay/evalkit/answer"
)

// Verdict is what a judge said.
type Verdict string

// The verdicts.
const (
	Yes      Verdict = "yes"      // faithful
	No       Verdict = "no"       // not faithful
	Unparsed Verdict = "unparsed" // neither could be read: counted, shown, never taken for either
)

// verdictKeys are the fields that hold a verdict in a structured reply.
var verdictKeys = []string{"supported", "faithful", "verdict", "grounded", "is_supported"} // read only

// ParseVerdict reads a judge's reply. Reasoning is removed first. A JSON object with a known
// field decides, the last one if there are several, because a reply may repeat what it was
// shown. Otherwise the words behind the last "verdict:", else the first words decide.
func ParseVerdict(reply string) Verdict {
	text, _ := answer.StripThinking(reply)
	if v, seen := fromObjects(text); seen {
		return v
	}
	return fromWords(text)
}

// fromObjects looks at the JSON objects of a text; seen reports whether there was any.
func fromObjects(text string) (v Verdict, seen bool) {
	v = Unparsed
	for i := 0; i < len(text); {
		if text[i] != '{' {
			i++
			continue
		}
		var m map[string]json.RawMessage
		d := json.NewDecoder(strings.NewReader(text[i:]))
		if d.Decode(&m) != nil {
			i++
			continue
		}
		i += int(d.InputOffset())
		seen = true
		for _, k := range verdictKeys {
			raw, ok := m[k]
			if !ok {
				continue
			}
			v = fromValue(raw)
			break
		}
	}
	return v, seen
}

func fromValue(raw json.RawMessage) Verdict {
	switch string(raw) {
	case "true":
		return Yes
	case "false":
		return No
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return fromWords(s)
	}
	return Unparsed
}

var verdictLabel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:verdict|judge?ment|answer|conclusion|result|phán quyết|urteil)\s*(?:is)?\s*[:=]\s*`)
})

var noWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:it is |this is |the answer is )?(?:not (?:fully |entirely |completely )?(?:supported|faithful|grounded)|unsupported|unfaithful|ungrounded|partially supported|partly supported|no|false|nein|falsch|không)\b`)
})

var yesWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:it is |this is |the answer is )?(?:(?:fully |entirely |completely )?(?:supported|faithful|grounded)|yes|true|ja|wahr|có)\b`)
})

var fieldName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:is )?(?:supported|faithful|grounded)\s*[:=]\s*`)
})

// bothWords are replies that take no side.
var bothWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:yes(?: and |/| or |\|)no|no(?: and |/| or |\|)yes|true(?:/| or |\|)false|supported(?:/| or |\|)(?:not supported|unsupported))\b|^(?:(?:yes|true)[.,;! ]+(?:no|false)|(?:no|false)[.,;! ]+(?:yes|true))[.!]*$`)
})

func fromWords(text string) Verdict {
	s := strings.ToLower(strings.NewReplacer("*", "", "_", " ", "`", "", "#", "", "\"", "", "'", "").Replace(text))
	if all := verdictLabel().FindAllStringIndex(s, -1); len(all) > 0 {
		s = s[all[len(all)-1][1]:]
	}
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimLeft(s, " .:-–—>([{")
	// An object that is no JSON, because it was cut or has other quotes: the name is no verdict.
	s = fieldName().ReplaceAllString(s, "")
	switch {
	case matches(bothWords(), s):
		return Unparsed
	case matches(noWords(), s):
		return No
	case matches(yesWords(), s):
		return Yes
	}
	return Unparsed
}

// matches is MatchString with a word border that knows letters outside ASCII.
func matches(re *regexp.Regexp, s string) bool {
	m := re.FindStringIndex(s)
	if m == nil {
		// \b is ASCII: "không" and "có" end in letters it takes for a border or not.
		for _, w := range []string{"không", "có"} {
			if strings.HasPrefix(s, w) && re.MatchString(w+" x") {
				return true
			}
		}
		return false
	}
	return true
}

var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\s*(?:[-*]\s*)?(?:claim\s*|statement\s*)?[#\[(]?(\d{1,3})[\])]?\s*[.:)=-]?\s*(?:[:.-]\s*)?(.*)$`)
})

// ParseVerdicts reads one verdict for each of n claims: a JSON list of objects with claim and
// supported, a JSON list of verdicts, or numbered lines. Claims without a verdict are Unparsed.
// ok is false, and all are Unparsed, if the reply holds more than n verdicts, a number twice
// or a number outside 1 to n. Lines before the list are passed over.
func ParseVerdicts(reply string, n int) (verdicts []Verdict, ok bool) {
	text, _ := answer.StripThinking(reply)
	verdicts = make([]Verdict, n)
	for i := range verdicts {
		verdicts[i] = Unparsed
	}
	given := listVerdicts(text)
	if given == nil {
		given = lineVerdicts(text, n)
	}
	seen := map[int]bool{}
	valid := len(given) <= n
	for i, g := range given {
		at := g.claim
		if at == 0 {
			at = i + 1
		}
		if at < 1 || at > n || seen[at] {
			valid = false
			break
		}
		seen[at] = true
		verdicts[at-1] = g.verdict
	}
	if !valid {
		for i := range verdicts {
			verdicts[i] = Unparsed
		}
		return verdicts, false
	}
	return verdicts, true
}

type claimVerdict struct {
	claim   int // 0: by position
	verdict Verdict
}

func listVerdicts(text string) (out []claimVerdict) {
	for i := 0; i < len(text); i++ {
		if text[i] != '[' {
			continue
		}
		var list []json.RawMessage
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&list) != nil || len(list) == 0 {
			continue
		}
		out = out[:0]
		for _, raw := range list {
			var m map[string]json.RawMessage
			if json.Unmarshal(raw, &m) != nil {
				if v := fromValue(raw); v != Unparsed {
					out = append(out, claimVerdict{0, v})
				}
				continue
			}
			c := claimVerdict{verdict: Unparsed}
			for _, k := range []string{"claim", "id", "number", "index"} {
				if n, err := strconv.Atoi(strings.Trim(string(m[k]), `"`)); err == nil {
					c.claim = n
					break
				}
			}
			for _, k := range verdictKeys {
				if v, ok := m[k]; ok {
					c.verdict = fromValue(v)
					break
				}
			}
			out = append(out, c)
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func lineVerdicts(text string, n int) (out []claimVerdict) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := numbered().FindStringSubmatch(line); m != nil {
			if v := fromWords(m[2]); v != Unparsed {
				claim, _ := strconv.Atoi(m[1])
				out = append(out, claimVerdict{claim, v})
			} else if m[2] == "" || len(strings.Fields(m[2])) <= 2 {
				claim, _ := strconv.Atoi(m[1])
				out = append(out, claimVerdict{claim, Unparsed})
			}
			continue
		}
		// Without numbers a line must be a verdict and little else.
		if v := fromWords(line); v != Unparsed && len(strings.Fields(line)) <= 4 {
			out = append(out, claimVerdict{0, v})
		}
	}
	return out
}

// Score is the share of claims with a Yes, in [0,1]; unparsed ones count as not supported. ok
// is false without claims.
func Score(verdicts []Verdict) (score float64, ok bool) {
	if len(verdicts) == 0 {
		return 0, false
	}
	n := 0
	for _, v := range verdicts {
		if v == Yes {
			n++
		}
	}
	return float64(n) / float64(len(verdicts)), true
}
