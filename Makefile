# What a developer does with Tidemark. Go 1.26 is all that building, running and benchmarking need; the report's tests
# also need Chromium, and the race detector needs a C compiler.

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := .tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint

# Rooms with goroutines, tested under the race detector. The others run in one thread by design (house_test.go holds
# them to it), so their suites, which simulate hours, run without its tenfold cost.
CONCURRENT := ^tidemark/(cmd|harness|history|results|docker|broker/server)(/|$$)

# Tests of the container world as a whole, which need a container engine.
LIVE       := ^tidemark/docker/live$$

FUZZTIME ?= 1m
COUNT    ?= 3

# The release of Apache Kafka that the lines with kafka in their names run.
RELEASE  ?= 4.1.0

.PHONY: run build nightly soak soak-space soak-docker soak-kafka canary-docker bugs-docker hunt-docker hunt-kafka test test-bugs bugs test-docker test-docker-kafka test-docker-readme test-docker-kills carry-kafka kafka-kills observer-kafka flat bench lint fuzz screenshot clean

# A first run: in containers where a container engine is found, else in the simulated world alone, whose program needs a third less time
# to build.
ENGINE := $(or $(DOCKER_HOST),$(wildcard /var/run/docker.sock))

ifneq ($(ENGINE),)
run: build
	bin/tidemark run --world auto --tour --duration 27s --rate 400
else
run:
	CGO_ENABLED=0 go build -trimpath -tags simonly -o bin/tidemark-sim ./cmd/tidemark
	bin/tidemark-sim run --world auto --tour --rate 200
endif

# Without debug information: it builds faster, and the binary goes into an image. Stack traces need none.
build:
	CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags='-s -w' -o bin/tidemark ./cmd/tidemark

test:
	go vet ./...
	go vet -tags simonly ./cmd/tidemark ./harness
	go test -timeout 6m $$(go list ./... | grep -vE '$(CONCURRENT)|$(LIVE)')
	go test -timeout 25m -race $$(go list ./... | grep -E '$(CONCURRENT)' | grep -vE '$(LIVE)')
	go test -timeout 15m -race -run 'Processors|InParallel' ./checker

# A thousand seeds of the standard minute, each run again by another process with another GOMAXPROCS: no violation, the same hashes.
soak: build
	bin/tidemark hunt --configs default --max-seeds 1000 --twice

# Ten thousand seeds of a minute over the whole space of configurations: no violation.
soak-space: build
	bin/tidemark hunt --duration 60s --max-seeds 10000

# Every known bug's scenario: what it fails of with the bug on, and that it is valid without. Then random search for ten bugs that the date
# draws, from among those that the search finds within seconds: the budget is for a machine that does much else. Under four minutes on two cores.
test-bugs: build
	go test -count 1 -run '^TestBugs$$' ./harness
	bin/tidemark bugs --draw 10 --without $(SLOW_BUGS) --master $$(date -u +%Y%m%d) --budget 3m --no-shrink

# Bugs that take the search a good part of a minute, or minutes: a budget of seconds would miss them on some days. The night excuses the same ones.
SLOW_BUGS := $(shell sed -n 's/.*"not found: \([a-z-]*\)".*/\1/p' corpus/known.json | paste -sd, -)

# All known bugs by random search, each run that shows one shrunk: writes docs/bugs.md. Searching takes under twenty minutes on two
# cores, shrinking some ten more.
bugs: build
	bin/tidemark bugs --markdown docs/bugs.md

# The night, here and in CI: what is new since the one before is in nightly/campaigns/index.html. BUDGET=20m has the parts share that time;
# BUG=NAME switches a known bug on, to see the night go red, in directories of its own, nightly-NAME and the corpus in it; with NIGHTLY=nightly-NAME the
# next night there has it off, and what is mended is resolved. NIGHT has further options, see tidemark nightly --help.
NIGHTLY ?= nightly$(if $(BUG),-$(BUG))
CORPUS   = $(if $(filter nightly,$(NIGHTLY)),corpus,$(NIGHTLY)/corpus)
nightly: build
	@mkdir -p $(CORPUS)
	bin/tidemark nightly --out $(NIGHTLY) --corpus $(CORPUS) --known corpus/known.json $(if $(BUDGET),--budget $(BUDGET)) $(if $(BUG),--bug $(BUG)) $(NIGHT)

# Fifty runs of half a minute in containers: no violation, every kind of fault seen in five or more, all of them undone, nothing left.
soak-docker: build
	bin/tidemark hunt --world docker --max-seeds 50 --duration 30s --allow-vacuous 10 --workers 2

# Ten runs of a minute of unmodified Apache Kafka: no violation, at most one run vacuous, each kind of fault seen in three or more. A quarter of an hour.
soak-kafka: build
	bin/tidemark hunt --target apache-kafka:$(RELEASE) --max-seeds 10 --allow-vacuous 10

# A known bug in containers: found blindly within five runs; then by a plan of one line, k of n. Each hunt ends with 1, a violation.
canary-docker: build
	bin/tidemark hunt --world docker --bug ack-before-replication --duration 30s --max-seeds 5 --until-first; test $$? = 1
	bin/tidemark hunt --world docker --bug ack-before-replication --duration 20s --max-seeds 10 --plan docker/live/testdata/canary.plan; test $$? = 1

# Known bugs in containers, by a plan of one to three lines each: it must show at least three times in five, as what it shows as in the simulator,
# and nothing without the bug. Three clusters at a time: some twenty minutes. Before that the same plans in the simulator.
bugs-docker:
	go test -timeout 10m -count 1 -v -run '^TestBugsInTheSimulator$$' ./docker/live
	TIDEMARK_BUGS=1 TIDEMARK_DOCKER=1 go test -timeout 60m -count 1 -parallel 3 -v -run '^TestBugs$$' ./docker/live

# Three known bugs by random search in containers, ten minutes each: how many of the runs show them. Half an hour.
hunt-docker: build
	for bug in ack-before-replication unclean-election truncate-to-hw; do \
		bin/tidemark hunt --world docker --bug $$bug --budget 10m --duration 30s; [ $$? -le 1 ] || exit; done

# The container world with a real engine: skipped where none answers, unless TIDEMARK_DOCKER=1 or CI=true.
test-docker:
	go test -timeout 25m -count 1 ./docker/live

# Ten runs of a minute of unmodified Apache Kafka under every kind of fault: what the observer held after each is what the brokers' own files and Kafka's
# own tools say. A quarter of an hour.
observer-kafka:
	TIDEMARK_DOCKER=1 go test -timeout 40m -count 1 -v -run '^TestObserverAfterRuns$$' ./docker/live -args -observed 10 -observed-of apache-kafka:$(RELEASE)

# The commands of README.md and docs that need an engine, those of Apache Kafka too, each made short: some minutes.
test-docker-readme:
	TIDEMARK_README=1 TIDEMARK_DOCKER=1 go test -timeout 30m -count 1 -v -run '^TestTheReadmesCommands$$' ./docker/live

# A loss that a hunt in the simulator found, carried over unchanged to Apache Kafka 0.10.2.2, which has it (KIP-101), and to two releases that have it no longer:
# run 172 of that master seed, shrunk and made firm, then k of n. A few minutes, then twenty of containers.
carry-kafka: build
	@set -e; dir=$$(bin/tidemark hunt --bug truncate-to-hw --like apache-kafka:0.10.2.2 --partitions 1 \
		--config replica.lag.time.max.ms=10000,replica.socket.timeout.ms=30000,replica.high.watermark.checkpoint.interval.ms=5000 \
		--faults kill,partition,hold,drop,pause --master 2228699037457708562 --first 172 --max-seeds 1 --neighbours 20 --shrink --shrink-budget 15m \
		| tee /dev/stderr | sed -n 's,^  replay: .* replay ,,p' | tail -n 1); [ -d "$$dir" ]; \
	for to in 0.10.2.2:10 0.11.0.3:3 4.1.0:3; do \
		bin/tidemark replay "$$dir" --target "apache-kafka:$${to%:*}" --times "$${to#*:}" || [ $$? -le 1 ]; done

# Random search for a loss of acknowledged messages in unmodified Apache Kafka 0.10.2.2: ends with the first, or after an hour.
hunt-kafka: build
	bin/tidemark hunt --target apache-kafka:0.10.2.2 --classic --partitions 1 --duration 45s \
		--config replica.lag.time.max.ms=10000,replica.socket.timeout.ms=30000,replica.high.watermark.checkpoint.interval.ms=5000 \
		--until-class 'lost acknowledged write' --budget 60m --allow-vacuous 20

# The runs of Apache Kafka and the proxy's tests that make test-docker holds, alone, with how long each takes.
test-docker-kafka:
	TIDEMARK_DOCKER=1 go test -timeout 15m -count 1 -v -run '^Test(ARunOfApacheKafka|APublishedLoss|HeldAnswers|TheNthMessage|ClientsMeetFaults|CutsHoldUnderTheProxy|WithoutSuchLines)' ./docker/live

# Harnesses killed at ten moments: what each left is removed by the next, and its history is readable.
test-docker-kills:
	TIDEMARK_KILLS=1 TIDEMARK_DOCKER=1 go test -timeout 10m -count 1 -v -run '^TestKills$$' ./docker/live

# The same of harnesses that run unmodified Apache Kafka, behind rules and proxies. Ten minutes.
kafka-kills:
	TIDEMARK_KILLS=1 TIDEMARK_DOCKER=1 go test -timeout 30m -count 1 -v -run '^TestKills$$' ./docker/live -args -killed-of apache-kafka:$(RELEASE)

# Three brokers in containers under steady load for ten minutes: goroutines, descriptors and memory stay as they are. Then ten thousand
# connections in a minute that end in every way.
flat:
	TIDEMARK_DOCKER=1 go test -timeout 20m -count 1 -v -run '^TestFlat$$' ./docker/live -args -flat 10m
	TIDEMARK_DOCKER=1 go test -timeout 10m -count 1 -v -run '^TestChurn$$' ./docker/live -args -churn 10000

comma := ,

# Figures alone: a line on what is measured and what it should be, then what go test -bench prints of it.
define measure
	@printf '\n%s\n' $(1)
	@{ go test -run '^$$' -bench . -benchmem -count $(COUNT) $(2) 2>&1; echo "exit $$?"; } \
	| awk '/^exit [0-9]+$$/ { code = $$2; next } /no test files|^(PASS|ok |goos|goarch|pkg|cpu):?/ { next } { print; fflush() } END { exit code }'
endef

bench:
	$(call measure,'A simulated minute: three brokers under faults with invariants on. sim:wall is simulated seconds a second of one core: 200 or more.',-cpu 1 -benchtime 100x ./harness)
	$(call measure,'The checker: 1000000 operations within 1 s (ns/op-of-history under 1000) and under 200 bytes/op-of-history; Both is with the second judge.',-bench Check ./checker)
	$(call measure,'A journal of 1000000 and of 10000000 operations read and checked: times-reading under 2; the larger under 4096 MiB, and times-1M under 1.3.',-bench Journal -benchtime 1x -count 1 ./checker -large)
	$(call measure,'The simulator alone: a delivered message.',./sim)
	$(call measure,'The broker: its log and replication; over loopback to three brokers; a minute of three idle voters.',./broker/...)
	$(call measure,'Containers$(comma) where an engine answers: s-median-ack is from the start to the first acknowledged write$(comma) of ten: under 5.',-count 1 -bench FirstAck -benchtime 10x ./docker/live)
	$(call measure,'Three brokers in containers under franz-go$(comma) acks=all: batched and one at a time$(comma) beside the same in processes on loopback.',-count 1 -bench Produce ./docker/live)
	$(call measure,'The proxy that messages meet faults at$(comma) while none does$(comma) in five turns: throughput-% of the direct path 70 or more$(comma) more-ms of the median latency 1 or less.',-count 1 -bench Proxy -benchtime 1x ./docker/live)
	$(call measure,'Clients and the history: a send and a poll; an entry recorded and written to the journal.',./workloads ./history)

# A golangci-lint of that version on the PATH will do; else it is installed into .tools.
lint:
	@if golangci-lint version 2>/dev/null | grep -qwF 'version $(GOLANGCI_VERSION:v%=%)'; then tool=golangci-lint; \
	else $(MAKE) --no-print-directory $(GOLANGCI) && tool=$(GOLANGCI); fi && "$$tool" run ./...

$(GOLANGCI):
	GOBIN=$(abspath $(dir $@)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

# Every fuzz target of the tree, one after another, each for FUZZTIME. Minimizing is bounded in steps: in time it would take most of it.
fuzz:
	@set -e; grep -rnoE '^func Fuzz\w+' --include='*_test.go' . \
	| sed -E 's,^\./(.*)/[^/]+:[0-9]+:func (\w+),\1 \2,' | sort \
	| while read -r dir target; do \
		echo "== $$dir $$target"; \
		go test "./$$dir" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x </dev/null; \
	done

# The pictures of this README and of docs/report.md, of the report of a known bug's scenario; DIR=runs/... takes those of another run.
SHOWN := harness/testdata/bugs/ack-before-replication.txt

screenshot: build
	@set -e; dir="$(DIR)"; if [ -z "$$dir" ]; then \
		dir=$$(bin/tidemark run --scenario $(SHOWN) 2>/dev/null | sed -n 's,^report: \(.*\)/report.html,\1,p'); [ -n "$$dir" ]; fi; \
	go test ./results -count 1 -run '^TestScreenshot(OfParts)?$$' -args \
		-screenshot-of "$$(realpath "$$dir")" -screenshot-to "$(abspath docs/report.png)" -parts "$(abspath docs/report)"

clean:
	rm -rf bin .tools
	go clean -testcache -fuzzcache
