package builtin

import (
	"sync"
	"testing"

	"tidemark/catalog"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

func TestTableNameIsWhatEnginesTake(t *testing.T) {
	for topic, want := range map[string]string{"flights": "flights", "a.b-c": "a_b_c", "A": "A"} {
		if got := TableName(topic); got != want {
			t.Errorf("TableName(%q) = %q, want %q", topic, got, want)
		}
	}
}

func TestANameBelongsToOneTopic(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, store := testContext(t), b.store(t)
		c := open(t, store, b.mode)
		create(t, c, testSpec(1, "a_b"))
		for _, name := range []string{"a-b", "A.B", "a_b"} {
			_, err := c.CreateGroup(ctx, testSpec(2, name))
			wantClass(t, err, status.Conflict)
		}
		aliased := testSpec(2, "a-b")
		aliased.Name = "other"
		create(t, c, aliased)
		renamed := testSpec(1, "zz")
		_, err := c.CreateGroup(ctx, renamed)
		wantClass(t, err, status.Conflict)
		stranger := testSpec(1, "a_b")
		stranger.Claim.ClusterID = "another cluster"
		_, err = c.CreateGroup(ctx, stranger)
		wantClass(t, err, status.Conflict)
		groups, err := c.Groups(ctx)
		if err != nil || len(groups) != 2 || groups[0].Name != "a_b" || groups[1].Name != "other" {
			t.Fatalf("groups: %+v, %v", groups, err)
		}
	})
}

func TestADroppedNameCanBeTaken(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, store := testContext(t), b.store(t)
		c := open(t, store, b.mode)
		first := create(t, c, testSpec(1, "t"))
		if err := c.Drop(ctx, topicID(1)); err != nil {
			t.Fatal(err)
		}
		// The same topic again: new tables, new places.
		second := create(t, c, testSpec(1, "t"))
		if second.Generation != 2 || second.Tables[catalog.Main].View.UUID == first.Tables[catalog.Main].View.UUID ||
			second.Tables[catalog.Main].View.Location == first.Tables[catalog.Main].View.Location {
			t.Fatalf("generation %d at %s", second.Generation, second.Tables[catalog.Main].View.Location)
		}
		if err := c.Drop(ctx, topicID(1)); err != nil {
			t.Fatal(err)
		}
		create(t, c, testSpec(2, "t"))
		_, err := c.CreateGroup(ctx, testSpec(1, "t"))
		wantClass(t, err, status.Conflict)
		groups, err := c.Groups(ctx)
		if err != nil || len(groups) != 1 || groups[0].Claim.TopicID != topicID(2) {
			t.Fatalf("groups: %+v, %v", groups, err)
		}
	})
}

func TestOfManyTopicsOneGetsTheName(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		const topics = 8
		ctx, store := testContext(t), b.store(t)
		errs := make([]error, topics)
		var wg sync.WaitGroup
		for i := range topics {
			c := open(t, store, b.mode)
			wg.Go(func() { _, errs[i] = c.CreateGroup(ctx, testSpec(byte(i+1), "t")) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				wantClass(t, err, status.Conflict)
			}
		}
		if won != 1 {
			t.Errorf("%d topics got the name", won)
		}
	})
}

func TestManyBrokersCreateOneGroup(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		const brokers = 8
		ctx, store := testContext(t), b.store(t)
		views, errs := make([]*GroupView, brokers), make([]error, brokers)
		var wg sync.WaitGroup
		for i := range brokers {
			c := open(t, store, b.mode)
			wg.Go(func() { views[i], errs[i] = c.CreateGroup(ctx, testSpec(1, "t")) })
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if views[i].Tables[catalog.Main].View.UUID != views[0].Tables[catalog.Main].View.UUID {
				t.Error("two brokers see two tables")
			}
		}
	})
}

func TestCreateIsFinishedOrGivenUpAfterACrashInEveryStep(t *testing.T) {
	eachInMemory(t, func(t *testing.T, b bench) {
		for _, effect := range []storetest.Effect{storetest.Fail, storetest.LostReply} {
			for step := 1; ; step++ {
				ctx, store := testContext(t), b.store(t)
				faulty := storetest.Faulty(store, storetest.Fault{Nth: step, Effect: effect}, storetest.Fault{Nth: step + 1, Times: -1, Effect: storetest.Fail})
				_, err := open(t, faulty, b.mode).CreateGroup(ctx, testSpec(1, "t"))
				if step%2 == 0 { // or given up, for another topic of the same name
					if err := open(t, store, b.mode).Drop(ctx, topicID(1)); err != nil {
						t.Fatal(err)
					}
					create(t, open(t, store, b.mode), testSpec(2, "t"))
				} else {
					create(t, open(t, store, b.mode), testSpec(1, "t"))
				}
				if err == nil {
					break
				}
			}
		}
	})
}

func TestBadDefinitionsAreRefusedAndTakeNoName(t *testing.T) {
	ctx, store := testContext(t), storetest.NewMemory()
	c := open(t, store, Swap)
	for what, change := range map[string]func(*GroupSpec){
		"name":       func(s *GroupSpec) { s.Name = "a-b" },
		"reserved":   func(s *GroupSpec) { s.Name = "t__quarantine" },
		"generation": func(s *GroupSpec) { s.Name = "t__g2" },
		"namespace":  func(s *GroupSpec) { s.Namespace = "" },
		"columns":    func(s *GroupSpec) { s.Main = schema.Schema{} },
		"decimal": func(s *GroupSpec) {
			s.Main.Fields = append(s.Main.Fields, schema.Field{Name: "d", Type: schema.Type{Kind: schema.Decimal, Precision: 39}})
		},
		"property": func(s *GroupSpec) { s.Properties = map[string]string{"tidemark.ledger": "x"} },
		"topic id": func(s *GroupSpec) { s.Claim.TopicID = catalog.TopicID{} },
	} {
		spec := testSpec(1, "t")
		change(&spec)
		if _, err := c.CreateGroup(ctx, spec); !status.Is(err, status.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if keys := store.Keys(); len(keys) != 0 {
		t.Errorf("left behind: %v", keys)
	}
	if _, err := Open(store, Config{Reading: map[string]string{"s3.secret-access-key": "x"}}, nil); !status.Is(err, status.Invalid) {
		t.Errorf("a secret for readers: %v", err)
	}
}

func TestOneStoreIsUsedInOneMode(t *testing.T) {
	store := storetest.NewMemory()
	create(t, open(t, store, Swap), testSpec(1, "t"))
	_, err := open(t, store, CreateOnly).CreateGroup(testContext(t), testSpec(1, "t"))
	wantClass(t, err, status.Invalid)
}
