package coordinator

import (
	"context"
	"sync"

	"tidemark/catalog"
)

// maxQuestions is how many questions partition leaders are asked at once, of all groups.
const maxQuestions = 16

// question is what a partition's leader is asked.
type question struct {
	partition  int32
	offset     int64
	batchEpoch int32
}

// answers are the leaders' answers of one choice.
type answers struct {
	mu     sync.Mutex
	known  map[question]catalog.Lineage
	silent map[int32]int64 // by partition, the offset that its leader has not confirmed
}

// choose chooses among offers. The leaders of the offers' partitions are asked at the same time, each only what the choice of its
// partition needs; one that is silent keeps its own partition. The other partitions are not this broker's to ask about: their ledger
// entries stay as they are.
func (g *group) choose(ctx context.Context, l catalog.Ledger, offers []catalog.Offer) (catalog.Choice, map[int32]int64) {
	a := &answers{known: map[question]catalog.Lineage{}, silent: map[int32]int64{}}
	byPartition := map[int32][]catalog.Offer{}
	for _, o := range offers {
		byPartition[o.Range.Partition] = append(byPartition[o.Range.Partition], o)
	}
	var asking sync.WaitGroup
	for partition, list := range byPartition {
		asking.Add(1)
		if !g.c.tasks.Go("lineage", func(context.Context) {
			defer asking.Done()
			g.ask(ctx, a, partition, l, list)
		}) {
			asking.Done()
		}
	}
	asking.Wait()
	choice := catalog.Choose(l, offers, func(partition int32, offset int64, batchEpoch int32) catalog.Lineage {
		if _, asked := byPartition[partition]; !asked {
			return catalog.OnChain
		}
		return a.known[question{partition, offset, batchEpoch}] // NotKnown if it was not asked
	})
	return choice, a.silent
}

// ask finds out what the choice of one partition needs to know.
func (g *group) ask(ctx context.Context, a *answers, partition int32, l catalog.Ledger, offers []catalog.Offer) {
	release, err := g.c.questions.Acquire(ctx, 1)
	if err != nil {
		return
	}
	defer release()
	catalog.Choose(l, offers, func(n int32, offset int64, batchEpoch int32) catalog.Lineage {
		if n != partition {
			return catalog.OnChain
		}
		ctx, cancel := context.WithTimeout(ctx, g.c.cfg.Question)
		defer cancel()
		answer := g.c.deps.Lineage(ctx, g.claim.TopicID, n, offset, batchEpoch)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.known[question{n, offset, batchEpoch}] = answer
		if answer == catalog.NotKnown {
			a.silent[n] = offset
		}
		return answer
	})
}
