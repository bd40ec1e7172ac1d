// Command tidemark is the operator's tool: table definitions, proof of what tables hold, and a look into every stored object.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"tidemark/catalog"
	"tidemark/internal/status"
)

var version = "development"

// command is one verb. Its run gets the arguments after the flags.
type command struct {
	name    string // "table create"
	args    string // what follows, for the help
	summary string
	long    string
	run     func(ctx context.Context, e *env, args []string) error
	flags   func(f *flag.FlagSet, e *env)
}

func commands() []command {
	return append(append(tableCommands(), verifyCommand(), sweepCommand(), scrubCommand(), doctorCommand()), dumpCommands()...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command could not do its work
	exitUsage  = 2 // the command line is wrong
	exitFound  = 3 // something is wrong with the data
)

// errFound ends a command that did its work and found damage.
var errFound = errors.New("found")

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "--help" || args[0] == "-h" {
		help(out)
		return exitOK
	}
	if args[0] == "version" || args[0] == "--version" {
		fmt.Fprintln(out, "tidemark", version)
		return exitOK
	}
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(args) < len(words) || strings.Join(args[:len(words)], " ") != c.name {
			continue
		}
		return c.call(ctx, args[len(words):], out, errs)
	}
	fmt.Fprintf(errs, "tidemark: %q is not a command; tidemark --help lists them\n", strings.Join(args[:min(2, len(args))], " "))
	return exitUsage
}

// call parses flags, which may stand anywhere, and runs the command.
func (c command) call(ctx context.Context, args []string, out, errs io.Writer) int {
	e := &env{out: out, errs: errs}
	f := flag.NewFlagSet(c.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	e.flags(f)
	if c.flags != nil {
		c.flags(f, e)
	}
	rest, args := topicIDs(f, args)
	for len(args) > 0 {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			c.help(out, f)
			return exitOK
		}
		if err != nil {
			fmt.Fprintf(errs, "tidemark %s: %v; tidemark %s --help shows what it takes\n", c.name, err, c.name)
			return exitUsage
		}
		args = f.Args()
		if len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	e.given = map[string]bool{}
	f.Visit(func(fl *flag.Flag) { e.given[fl.Name] = true })
	defer e.close()
	err := c.run(ctx, e, rest)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(errs, "tidemark %s: %v\n", c.name, err)
		return exitUsage
	case errors.Is(err, errFound):
		return exitFound
	}
	fmt.Fprintf(errs, "tidemark %s: %s: %v\n", c.name, status.Of(err), err)
	if status.Is(err, status.Corrupt) {
		return exitFound
	}
	return exitFailed
}

// topicIDs takes out of the arguments the topic ids that begin with a dash, which are operands and not flags. The value of a flag
// stays where it is.
func topicIDs(f *flag.FlagSet, args []string) (ids, others []string) {
	value := false // the next argument belongs to a flag
	for _, a := range args {
		_, err := catalog.ParseTopicID(a)
		switch {
		case value:
			value = false
		case strings.HasPrefix(a, "-") && err == nil:
			ids = append(ids, a)
			continue
		case strings.HasPrefix(a, "-"):
			known := f.Lookup(strings.TrimLeft(a, "-"))
			value = known != nil && !isBool(known)
		}
		others = append(others, a)
	}
	return ids, others
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// usageError is a wrong command line.
type usageError string

func (u usageError) Error() string { return string(u) }

func help(w io.Writer) {
	fmt.Fprint(w, "tidemark: topics of Apache Kafka in object storage and as Iceberg tables\n\nUsage: tidemark COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-34s %s\n", c.name+" "+c.args, c.summary)
	}
	fmt.Fprint(w, "  version                            print the version\n\nAll commands take --help and --json. Exit codes: 0 done, 1 failed, 2 wrong command line, 3 something is wrong with the data.\n")
}

func (c command) help(w io.Writer, f *flag.FlagSet) {
	fmt.Fprintf(w, "Usage: tidemark %s %s [flags]\n\n%s\n", c.name, c.args, c.summary)
	if c.long != "" {
		fmt.Fprintf(w, "\n%s\n", c.long)
	}
	fmt.Fprint(w, "\nFlags:\n")
	f.VisitAll(func(fl *flag.Flag) {
		name, usage := flag.UnquoteUsage(fl)
		if name != "" {
			name = " " + strings.ToUpper(name)
		}
		if fl.DefValue != "" && fl.DefValue != "false" {
			usage += " (default " + fl.DefValue + ")"
		}
		fmt.Fprintf(w, "  --%-28s %s\n", fl.Name+name, usage)
	})
}
