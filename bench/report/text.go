package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
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
		return fmt.Sprintf("%s %10s %-6s (ours only)", head, number(r.OurValues.Median), r.Unit)
	default:
		return fmt.Sprintf("%s %10s %-6s %s %10s  ratio %s (%s to %s)  %s", head, number(r.OurValues.Median), r.Unit, r.PeerName,
			number(r.Theirs.Median), ratio(r.Ratio.Median), ratio(r.Ratio.Min), ratio(r.Ratio.Max), r.Verdict())
	}
}

// header is the first line of every report.csv.
var header = []string{"row", "metric", "unit", "ours", "peer", "theirs", "ratio", "ratio_min", "ratio_max", "target", "met"}

// CSV writes the rows for machines: medians and ratios; cells without a number are empty. No targets are set, so target and met are empty.
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
		cells := []string{r.Row, r.Name, r.Unit, "", peer, "", "", "", "", "", ""}
		if r.Failure == "" {
			cells[3] = exact(r.OurValues.Median)
			if r.Theirs.Count > 0 {
				cells[5] = exact(r.Theirs.Median)
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
	Peer     string
	Rows     []Row
	Sections []Section
}

// Markdown writes the page: what was lost, then everything, then how it was measured.
func (p Page) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (*%s*)\n\n%s\n\n## Where we lose\n\n", p.Title, p.Label, p.Summary)
	if lost := p.only(Loss); len(lost) > 0 {
		p.table(&b, lost)
	} else {
		b.WriteString("No row of this run is worse in every round.\n")
	}
	if failed := p.only(NoNumber); len(failed) > 0 {
		b.WriteString("\n## Rows without a number\n\n")
		for _, r := range failed {
			fmt.Fprintf(&b, "- `%s` %s: %s\n", r.Row, r.Name, r.Failure)
		}
	}
	b.WriteString("\n## All rows\n\n")
	p.table(&b, p.Rows)
	fmt.Fprintf(&b, "\nRatio = %s ÷ %s of the medians; in brackets the smallest and largest ratio of a round. "+
		"A range that straddles 1 is *no difference*.\n", p.Ours, p.Peer)
	b.WriteString("\n## Every round\n\n")
	p.rounds(&b)
	for _, s := range p.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.Title, strings.TrimSpace(s.Text))
	}
	_, err := io.WriteString(w, b.String())
	return err
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
	fmt.Fprintf(b, "| row | metric | unit | good is | %s | %s | ratio | verdict |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", p.Ours, p.Peer)
	for _, r := range rows {
		good := "less"
		if r.Better == Higher {
			good = "more"
		}
		ours, theirs, ratios := "", "", ""
		if r.Failure == "" {
			ours, theirs = r.OurValues.text(), r.Theirs.text()
			if r.Ratio.Count > 0 {
				ratios = fmt.Sprintf("**%s** (%s to %s)", ratio(r.Ratio.Median), ratio(r.Ratio.Min), ratio(r.Ratio.Max))
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Row, r.Name, r.Unit, good, ours, theirs, ratios, r.Verdict())
	}
}

func (p Page) rounds(b *strings.Builder) {
	fmt.Fprintf(b, "| row | metric | unit | %s | %s | what it is |\n| --- | --- | --- | --- | --- | --- |\n", p.Ours, p.Peer)
	for _, r := range p.Rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", r.Row, r.Name, r.Unit, list(r.OurRounds), list(r.PeerRounds), r.What)
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
