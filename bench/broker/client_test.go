package broker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/workload"
)

// fake is a broker in this process with a topic "t".
func fake(t *testing.T, partitions int32) (context.Context, string) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx, strings.Join(c.ListenAddrs(), ",")
}

func client(ctx context.Context, t *testing.T, address string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := Open(ctx, address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestWhatIsProducedComesBack(t *testing.T) {
	ctx, address := fake(t, 3)
	set, err := workload.New(1, 3, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := ProduceAll(ctx, client(ctx, t, address), "t", set); err != nil {
		t.Fatal(err)
	}
	cl, err := Consumer(ctx, address, "t", 3, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := ConsumeAll(ctx, cl, set); err != nil {
		t.Error(err)
	}
}

func TestADifferenceIsAnError(t *testing.T) {
	ctx, address := fake(t, 3)
	produced, err := workload.New(1, 3, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	other, err := workload.New(2, 3, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := ProduceAll(ctx, client(ctx, t, address), "t", produced); err != nil {
		t.Fatal(err)
	}
	cl, err := Consumer(ctx, address, "t", 3, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := ConsumeAll(ctx, cl, other); err == nil || !strings.Contains(err.Error(), "not what was produced") {
		t.Errorf("got %v", err)
	}
}

func TestMissingRecordsEndWithTheTime(t *testing.T) {
	ctx, address := fake(t, 1)
	set, err := workload.New(1, 1, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	cl, err := Consumer(ctx, address, "t", 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := ConsumeAll(short, cl, set); err == nil || !strings.Contains(err.Error(), "records are missing") {
		t.Errorf("got %v", err)
	}
}

func TestSteadyLatenciesLeaveOutTheBeginning(t *testing.T) {
	ctx, address := fake(t, 3)
	set, err := workload.NewEven(1, 3, 100)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ProduceSteadily(ctx, client(ctx, t, address, kgo.ProducerLinger(time.Millisecond)), "t", set, 2000, 50)
	if err != nil {
		t.Fatal(err)
	}
	if s.Count != 250 || s.P50 <= 0 || s.High < s.P99 {
		t.Errorf("%+v", s)
	}
	cl, err := Consumer(ctx, address, "t", 3, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := ConsumeAll(ctx, cl, set); err != nil {
		t.Error(err)
	}
}
