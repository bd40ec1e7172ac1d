package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Line is a row for the terminal.
func (r Row) Line() string {
	head := fmt.Sprintf("%-14s %-13s", r.Row, r.Name)
	switch r.Verdict() {
	case NoNumber:
		return head + " no number: " + r.Failure
	case NoPeer:
		beside := "(ours only)"
		switch {
		case r.Dated != 0:
			beside = fmt.Sprintf("%s %s, not the same run", r.PeerName, number(r.Dated))
		case r.PeerFailure != "":
			beside = fmt.Sprintf("%s has no number: %s", r.PeerName, r.PeerFailure)
		}
		return fmt.Sprintf("%s %10s %-6s %s%s", head, number(r.OurValues.Median), r.Unit, beside, r.reached())
	default:
		return fmt.Sprintf("%s %10s %-6s %s %10s  ratio %s (%s to %s)  %s%s", head, number(r.OurValues.Median), r.Unit, r.PeerName,
			number(r.Theirs.Median), ratio(r.Ratio.Median), ratio(r.Ratio.Min), ratio(r.Ratio.Max), r.Verdict(), r.reached())
	}
}

// reached is the target and whether it is met, for the terminal.
func (r Row) reached() string {
	if r.Target == nil {
		return ""
	}
	met := r.Met()
	if met == NoTarget {
		met = "not measured"
	}
	return fmt.Sprintf("; target %s: %s", r.target(), met)
}

// header is the first line of every report.csv.
var header = []string{"row", "metric", "unit", "ours", "peer", "theirs", "ratio", "ratio_min", "ratio_max", "target", "met"}

// CSV writes the rows for machines: medians and ratios; cells without a number are empty.
// A figure of a peer from another run has "(not the same run)" behind the peer's name and no ratio.
func CSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for _, r := range rows {
		peer := r.PeerName
		if r.OursOnly {
			peer = ""
		}
		cells := []string{r.Row, r.Name, r.Unit, "", peer, "", "", "", "", r.target(), string(r.Met())}
		if r.Failure == "" {
			cells[3] = exact(r.OurValues.Median)
			if r.Theirs.Count > 0 {
				cells[5] = exact(r.Theirs.Median)
			} else if r.Dated != 0 {
				cells[4], cells[5] = peer+" (not the same run)", exact(r.Dated)
			}
			if r.Ratio.Count > 0 {
				cells[6], cells[7], cells[8] = exact(r.Ratio.Median), exact(r.Ratio.Min), exact(r.Ratio.Max)
			}
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Section is a part of the page below the tables.
type Section struct {
	Title string
	Text  string // Markdown
}

// Page is the report for people.
type Page struct {
	Title    string
	Label    string // "short", or what kind of run it was
	Summary  string
	Ours     string // name of our side
	Rows     []Row
	Sections []Section
}

// Write writes report.md and report.csv in dir.
func (p Page) Write(dir string) error {
	md, err := os.Create(filepath.Join(dir, "report.md"))
	if err != nil {
		return err
	}
	defer md.Close()
	if err := p.Markdown(md); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, "report.csv"))
	if err != nil {
		return err
	}
	defer out.Close()
	return CSV(out, p.Rows)
}

// Markdown writes the page: what was lost, then everything, then how it was measured.
func (p Page) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (*%s*)\n\n%s\n\n## Where we lose\n\n", p.Title, p.Label, p.Summary)
	if lost := p.lost(); len(lost) > 0 {
		p.table(&b, lost)
	} else {
		b.WriteString("No row of this run is worse in every round or misses its target.\n")
	}
	if failed := p.only(NoNumber); len(failed) > 0 {
		b.WriteString("\n## Rows without a number\n\n")
		for _, r := range failed {
			fmt.Fprintf(&b, "- `%s` %s: %s\n", r.Row, r.Name, r.Failure)
		}
	}
	b.WriteString("\n## All rows\n\n")
	p.table(&b, p.Rows)
	fmt.Fprintf(&b, "\nRatio = %s ÷ peer of the medians; in brackets the smallest and largest ratio of a round. "+
		"A range that straddles 1, or a ratio that is 1.00, is *no difference*; one that straddles its target is *inconclusive*.\n", p.Ours)
	b.WriteString("\n## Every round\n\n")
	p.rounds(&b)
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.Title, strings.TrimSpace(s.Text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lost is what is worse than a peer or misses its target.
func (p Page) lost() (rows []Row) {
	for _, r := range p.Rows {
		if r.Verdict() == Loss || r.Met() == No {
			rows = append(rows, r)
		}
	}
	return rows
}

func (p Page) only(v Verdict) (rows []Row) {
	for _, r := range p.Rows {
		if r.Verdict() == v {
			rows = append(rows, r)
		}
	}
	return rows
}

func (p Page) table(b *strings.Builder, rows []Row) {
	fmt.Fprintf(b, "| row | metric | unit | good is | %s | peer | theirs | ratio | verdict | target | met |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n", p.Ours)
	for _, r := range rows {
		good := "less"
		if r.Better == Higher {
			good = "more"
		}
		ours, peer, theirs, ratios := "", r.PeerName, "", ""
		if r.Failure == "" {
			ours, theirs = r.OurValues.text(), r.Theirs.text()
			if r.Ratio.Count > 0 {
				ratios = fmt.Sprintf("**%s** (%s to %s)", ratio(r.Ratio.Median), ratio(r.Ratio.Min), ratio(r.Ratio.Max))
			} else if r.Dated != 0 {
				theirs = number(r.Dated) + " *not the same run*"
			}
		}
		if r.OursOnly {
			peer = ""
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Row, r.Name, r.Unit, good, ours, peer, theirs, ratios,
			r.Verdict(), r.target(), r.Met())
	}
}

func (p Page) rounds(b *strings.Builder) {
	fmt.Fprintf(b, "| row | metric | unit | %s | peer | theirs | what it is |\n| --- | --- | --- | --- | --- | --- | --- |\n", p.Ours)
	for _, r := range p.Rows {
		peer := r.PeerName
		if r.OursOnly {
			peer = ""
		}
		theirs := list(r.PeerRounds)
		if r.PeerFailure != "" {
			theirs = "no number: " + r.PeerFailure
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Row, r.Name, r.Unit, list(r.OurRounds), peer, theirs, r.What)
	}
}

func (s Spread) text() string {
	switch s.Count {
	case 0:
		return ""
	case 1:
		return number(s.Median)
	default:
		return fmt.Sprintf("%s (%s to %s)", number(s.Median), number(s.Min), number(s.Max))
	}
}

func list(values []float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = number(v)
	}
	return strings.Join(texts, ", ")
}

// number rounds to what a reader can use: three digits or more.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func exact(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
