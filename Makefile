# The one entrance. `make help` lists what there is; each target installs what it needs and says so.

SHELL      := /bin/bash
VERSION    := $(shell cat VERSION)
CACHE      := $(or $(TIDEMARK_CACHE),$(HOME)/.cache/tidemark)
VENV       := $(CACHE)/venv
NATIVE     := build/native
JAR        := build/dist/tidemark-$(VERSION).jar
GOTAGS     := -tags netgo,osusergo
# One set of flags for tests and products, so that the dependencies are compiled once.
export GOFLAGS := -trimpath
KAFKA      ?= 4.4.0
STORE      ?= file
BENCH      ?= vanilla
SECONDS    ?= 30
# Every package but the c-shared one, which only links with a JDK's headers.
PACKAGES    = $$(CGO_ENABLED=0 go list $(GOTAGS) ./... | grep -v -e '^tidemark/integration' -e '^tidemark/bench')
# What make test runs of them; the others have targets of their own.
SCENARIOS   = $$(CGO_ENABLED=0 go list $(GOTAGS) ./integration/... ./bench/... | grep -v -e '/integration/versions$$' -e '/integration/faults$$')

.PHONY: help tools build dist test unit fuzz versions faults kafka-tests servers lint demo bench generate generate-check clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

tools: $(VENV)/.complete ## Install what builds, tests and the demo need (Gradle, Python packages)
	@integration/tools.sh check

$(VENV)/.complete: integration/requirements.txt integration/tools.sh
	@integration/tools.sh install

build: tools ## Build the native library and the command line tool
	@cgo/build.sh $(NATIVE)/libtidemark.so
	@CGO_ENABLED=0 go build $(GOTAGS) -buildvcs=false -ldflags "-w -buildid= -X main.version=$(VERSION)" -o $(NATIVE)/tidemark ./cmd/tidemark

$(NATIVE)/THIRD-PARTY-NOTICES: go.sum integration/notices.sh
	@integration/notices.sh $@

dist: build $(NATIVE)/THIRD-PARTY-NOTICES ## Build build/dist/tidemark-<version>.jar and its SHA-256
	@gradle -q jar -PnativeDir=$(NATIVE)
	@ls -l $(JAR)

test: dist servers ## Run every test: Go, Java, fuzz targets, brokers; ends with "N passed, N failed"
	@gradle -q test > build/java-tests.txt 2>&1 || cat build/java-tests.txt
	@tail -1 build/java-tests.txt | sed 's/^/java: /'
	@integration/fuzz.sh 5 | tee build/fuzz.txt
	@CGO_ENABLED=0 go run ./integration/testsum -from build/java-tests.txt -from build/fuzz.txt -- \
		$(GOTAGS) -timeout 25m -p 2 $(PACKAGES) $(SCENARIOS)

servers:
	@integration/tools.sh servers

unit: ## Run the Go tests that need no broker
	@CGO_ENABLED=0 go run ./integration/testsum -- $(GOTAGS) -timeout 10m -p 2 $(PACKAGES)

fuzz: ## Fuzz every decoder of foreign bytes, SECONDS=30 each; ends with "N passed, N failed"
	@integration/fuzz.sh $(SECONDS)

kafka-tests: dist ## Run Kafka's own tests of tiered storage on Tidemark: KAFKA=4.0.2 or 4.3.1; CLASS=name part
	@integration/kafkatests/run.sh $(KAFKA) $(JAR) $(CLASS)

lint: tools ## gofmt, go vet, staticcheck, architecture rules
	@integration/lint.sh

demo: dist ## Show the main job on this machine; STORE=s3, KEEP=1, KAFKA=4.0.2
	@CGO_ENABLED=0 go run $(GOTAGS) ./integration/demo -kafka $(KAFKA) -store $(STORE) -jar $(JAR) -cli $(NATIVE)/tidemark $(if $(KEEP),-keep)

versions: dist ## One jar on Kafka 4.0 to 4.4: the demo on each, upgrade, replicas, leaders, retention, restarts, shutdown; RUN=TestDemo/4.1.2 runs a part
	@rm -f build/versions.txt
	@CGO_ENABLED=0 go run ./integration/testsum -sub -show build/versions.txt -- $(GOTAGS) -timeout 90m -count 1 $(if $(RUN),-run '$(RUN)') ./integration/versions

faults: servers dist ## Every fault of a store (S), crash of a copy (C), removal (E) and read (F), and docs/faults.md from it; ROW=S7 runs one row and writes no page
	@rm -f build/faults.jsonl
	@CGO_ENABLED=0 go test $(GOTAGS) -timeout 50m -count 1 -parallel 4 $(if $(ROW),-v) -run 'Test(Store|Points)$$$(if $(ROW),/^$(ROW)$$)' ./integration/faults $(if $(ROW),,|| true)
	@$(if $(ROW),true,CGO_ENABLED=0 go run $(GOTAGS) ./integration/faults/render build/faults.jsonl docs/faults.md)

bench: dist ## Measure: BENCH=vanilla or tiering; ROW=06 one row, FULL=1 all rounds, PEER_LIBS= a foreign plugin; bench/README.md
	@CGO_ENABLED=0 go run $(GOTAGS) ./bench/cmd -suite $(BENCH) -kafka $(KAFKA) -jar $(JAR) -cli $(NATIVE)/tidemark

generate: tools ## Regenerate what is generated: FlatBuffers code, references of settings and metrics
	@internal/wire/generate.sh
	@CGO_ENABLED=0 go run $(GOTAGS) ./cgo/assemble/configdoc > docs/config.md
	@CGO_ENABLED=0 go run $(GOTAGS) ./cgo/assemble/metricsdoc > docs/metrics.md

generate-check: generate ## Fail if a generated file differs from the committed one
	@test -z "$$(git status --porcelain -- internal/wire jni-shim/src/generated docs/config.md docs/metrics.md)" || \
		{ git diff -- internal/wire jni-shim/src/generated docs/config.md docs/metrics.md; echo "generated files differ: commit what 'make generate' writes"; exit 1; }

clean: ## Remove everything built in this directory
	@rm -rf build .gradle
