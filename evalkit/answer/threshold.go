package answer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// TopScore is the top score of one question.
type TopScore struct {
	Question   string  `json:"question"`
	Answerable bool    `json:"answerable"`
	Score      float64 `json:"score"`
}

// ThresholdStudy shows how top scores of answerable and unanswerable questions lie, so that
// nobody sets a threshold where the two mix.
type ThresholdStudy struct {
	Answerable   int `json:"answerable"`
	Unanswerable int `json:"unanswerable"`
	// AUC is the chance that a random answerable question scores above a random unanswerable
	// one, ties counting one half: 1 separates, 0.5 says nothing.
	AUC float64 `json:"auc"`
	// Overlap is the range in which both kinds lie; OverlapShare is the share of all questions
	// in it. Separable is true when there is none.
	Separable    bool    `json:"separable"`
	OverlapLo    float64 `json:"overlap_lo"`
	OverlapHi    float64 `json:"overlap_hi"`
	OverlapShare float64 `json:"overlap_share"`
	// Points are what each threshold would do, ascending: questions below it are refused.
	Points []ThresholdPoint `json:"points"`
	Scores []TopScore       `json:"scores"` // by score, then question
}

// ThresholdPoint is one threshold.
type ThresholdPoint struct {
	Threshold      float64 `json:"threshold"`
	CorrectRefused int     `json:"correct_refused"` // unanswerable questions below it
	WrongRefused   int     `json:"wrong_refused"`   // answerable questions below it
}

// Thresholds studies top scores. Both kinds of question are needed, and finite scores.
func Thresholds(scores []TopScore) (*ThresholdStudy, error) {
	s := &ThresholdStudy{Scores: slices.Clone(scores)}
	slices.SortFunc(s.Scores, func(a, b TopScore) int {
		switch {
		case a.Score < b.Score:
			return -1
		case a.Score > b.Score:
			return 1
		}
		return strings.Compare(a.Question, b.Question)
	})
	var pos, neg []float64
	for _, v := range s.Scores {
		if math.IsNaN(v.Score) || math.IsInf(v.Score, 0) {
			return nil, fmt.Errorf("threshold study: question %s has the score %v", v.Question, v.Score)
		}
		if v.Answerable {
			pos = append(pos, v.Score)
		} else {
			neg = append(neg, v.Score)
		}
	}
	s.Answerable, s.Unanswerable = len(pos), len(neg)
	if len(pos) == 0 || len(neg) == 0 {
		return nil, errors.New("threshold study: answerable and unanswerable questions are both needed")
	}
	wins := 0.0
	for _, p := range pos {
		below, _ := slices.BinarySearch(neg, p)
		equal := 0
		for i := below; i < len(neg) && neg[i] == p; i++ {
			equal++
		}
		wins += float64(below) + float64(equal)/2
	}
	s.AUC = wins / float64(len(pos)) / float64(len(neg))
	s.OverlapLo, s.OverlapHi = max(pos[0], neg[0]), min(pos[len(pos)-1], neg[len(neg)-1])
	s.Separable = s.OverlapLo > s.OverlapHi
	if s.Separable {
		s.OverlapLo, s.OverlapHi = 0, 0
	} else {
		n := 0
		for _, v := range s.Scores {
			if v.Score >= s.OverlapLo && v.Score <= s.OverlapHi {
				n++
			}
		}
		s.OverlapShare = float64(n) / float64(len(s.Scores))
	}
	p, n := 0, 0
	for i, v := range s.Scores {
		if i == 0 || v.Score != s.Scores[i-1].Score {
			s.Points = append(s.Points, ThresholdPoint{v.Score, n, p})
		}
		if v.Answerable {
			p++
		} else {
			n++
		}
	}
	return s, nil
}

// bins counts scores in n bins of equal width between the lowest and the highest.
func (s *ThresholdStudy) bins(n int) (lo, width float64, pos, neg []int) {
	lo = s.Scores[0].Score
	hi := s.Scores[len(s.Scores)-1].Score
	width = (hi - lo) / float64(n)
	pos, neg = make([]int, n), make([]int, n)
	for _, v := range s.Scores {
		i := 0
		if width > 0 {
			i = min(int((v.Score-lo)/width), n-1)
		}
		if v.Answerable {
			pos[i]++
		} else {
			neg[i]++
		}
	}
	return lo, width, pos, neg
}

// Text renders the study with a histogram: # answerable, o unanswerable.
func (s *ThresholdStudy) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "top score of %d answerable and %d unanswerable questions: AUC %.3f\n", s.Answerable, s.Unanswerable, s.AUC)
	if s.Separable {
		fmt.Fprintln(&b, "the two do not overlap")
	} else {
		fmt.Fprintf(&b, "both lie between %.4g and %.4g, with %.0f %% of all questions: no threshold there separates them\n", s.OverlapLo, s.OverlapHi, 100*s.OverlapShare)
	}
	lo, width, pos, neg := s.bins(15)
	most := max(slices.Max(pos), slices.Max(neg), 1)
	for i := range pos {
		bar := func(n int, c string) string { return strings.Repeat(c, (n*30+most-1)/most) }
		fmt.Fprintf(&b, "%10.4g  %-30s %3d  %-30s %3d\n", lo+float64(i)*width, bar(pos[i], "#"), pos[i], bar(neg[i], "o"), neg[i])
	}
	fmt.Fprintln(&b, "            # answerable                        o unanswerable")
	return b.String()
}

// SVG renders the histogram as a picture of 640 by 260, one bar beside the other, with the
// range of overlap shaded. It holds no scripts and loads nothing.
func (s *ThresholdStudy) SVG() string {
	const w, h, left, bottom, n = 640.0, 260.0, 40.0, 30.0, 20
	lo, width, pos, neg := s.bins(n)
	most := float64(max(slices.Max(pos), slices.Max(neg), 1))
	plotW, plotH := w-left-10, h-bottom-25
	x := func(score float64) float64 {
		if width == 0 {
			return left
		}
		return left + (score-lo)/(width*n)*plotW
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="Top scores of answerable and unanswerable questions" font-family="sans-serif" font-size="11">`+"\n", w, h)
	if !s.Separable {
		fmt.Fprintf(&b, `<rect x="%.1f" y="20" width="%.1f" height="%.1f" fill="#eee"/>`+"\n", x(s.OverlapLo), max(x(s.OverlapHi)-x(s.OverlapLo), 1), plotH)
	}
	barW := plotW / n / 2
	for i := range pos {
		for k, bar := range []struct {
			count int
			fill  string
		}{{pos[i], "#2a6f97"}, {neg[i], "#d1495b"}} {
			if bar.count > 0 {
				height := float64(bar.count) / most * plotH
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left+float64(2*i+k)*barW, 20+plotH-height, barW*0.9, height, bar.fill)
			}
		}
	}
	fmt.Fprintf(&b, `<line x1="%g" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#333"/>`+"\n", left, 20+plotH, left+plotW, 20+plotH)
	for i := 0; i <= 4; i++ {
		v := lo + width*n*float64(i)/4
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%.3g</text>`+"\n", left+plotW*float64(i)/4, 20+plotH+15, v)
	}
	fmt.Fprintf(&b, `<text x="%g" y="14"><tspan fill="#2a6f97">answerable (%d)</tspan> <tspan fill="#d1495b">unanswerable (%d)</tspan> AUC %.3f</text>`+"\n</svg>\n", left, s.Answerable, s.Unanswerable, s.AUC)
	return b.String()
}
