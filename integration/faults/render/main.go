// Command render writes docs/faults.md from the outcomes of the fault tests and ends with their count; it exits with 1 if a row failed.
package main

import (
	"fmt"
	"os"

	"tidemark/integration/faults/table"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: render OUTCOMES PAGE")
		os.Exit(2)
	}
	f, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(2)
	}
	outcomes, err := table.Read(f)
	if err == nil {
		err = os.WriteFile(os.Args[2], []byte(table.Render(outcomes)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(2)
	}
	for _, row := range table.Rows {
		if o, ok := outcomes[row.ID]; !ok || o.Outcome != table.Pass {
			fmt.Printf("%s: %s: %s (%s)\n", row.ID, o.Outcome, o.Because, row.Replay())
		}
	}
	text, failed := table.Count(outcomes)
	fmt.Println(text)
	if failed > 0 {
		os.Exit(1)
	}
}
