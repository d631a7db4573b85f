# The entry point of the lab. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

# A JDK ≥ 25 for Maven and for everything Maven starts; the default `java` may be older.
JDK = $(shell bin/find-jdk)
# Maven's own libraries use methods that JDK 25 warns about; warnings of our compilers and tests are unaffected. A build
# is too short for C2's code to pay: with C1 alone it takes half the CPU time. Tests run in JVMs of their own, with both.
# In the locale C, a JVM cannot open a file whose path is not ASCII.
MVN = env JAVA_HOME="$(JDK)" LC_ALL=C.UTF-8 \
  MAVEN_OPTS="--sun-misc-unsafe-memory-access=allow -XX:TieredStopAtLevel=1 $$MAVEN_OPTS" \
  mvn --batch-mode --no-transfer-progress -q -Dstyle.color=never
VENV = .venv/bin
# What tests and linters need besides the lab's own packages.
DEVELOPERS_PACKAGES = LAB_PACKAGES=dev bin/lab --version >/dev/null
# Tests start the lab hundreds of times, so its compiled modules are kept, even if the environment asks for none.
PYTEST = PYTHONDONTWRITEBYTECODE= $(VENV)/pytest -q

SERVICE_JAR = service/server/target/service/lsmlab-server.jar
LOADGEN_BUILT = loadgen/target/release/loadgen
PROFILE = profiler/target/release/profile
PROFILE_LIB = profiler/target/lib/.complete

SERVICE_SOURCES := $(shell find service -path '*/target' -prune -o -path '*/src/test' -prune -o \( -name '*.java' -o -name pom.xml -o -path '*/resources/*' \) -type f -print 2>/dev/null)
LOADGEN_SOURCES := $(shell find loadgen -path loadgen/target -prune -o \( -name '*.rs' -o -name 'Cargo.*' -o -name '*.lua' \) -type f -print 2>/dev/null)
PROFILER_SOURCES := $(shell find profiler -path profiler/target -prune -o \( -name '*.rs' -o -name 'Cargo.*' -o -name '*.toml' -o -name '*.ttf' \) -type f -print 2>/dev/null)

# Only settings of the command line count: an environment may have another NAME.
quote = '$(subst ','\'',$(1))'
given = $(if $(filter command line,$(origin $(1))),$(2) $(call quote,$($(1))))
OVERRIDES = $(call given,RATE,--rate) $(call given,DURATION,--duration) $(call given,WARMUP,--warmup) \
  $(call given,THREADS,--threads) $(call given,CONNECTIONS,--connections) $(call given,VARIANT,--variant) \
  $(call given,REPEAT,--repeat) $(call given,RUNTIME,--runtime) $(call given,ENGINE,--engine) \
  $(call given,WORKERS,--workers) $(call given,SELECTORS,--selectors) $(call given,QUEUE_CAPACITY,--queue-capacity) \
  $(call given,PROFILE,--profile) $(call given,SCALE,--scale)
# Settings of the machine or the cluster: they reach the lab through the environment.
HERE = CPUS_SERVICE CPUS_LOADGEN CPUS_OTHER PORT ADMIN_PORT LOADGEN_METRICS_PORT MONITORING LOADGEN LOADGEN_IMAGE \
  GENERATORS SPREAD HOST_NETWORK STORE SERVICE_CPUS SERVICE_MEMORY LOAD_CPUS EXCLUSIVE_CPUS REGISTRY IMAGE_PULL NAMESPACE
# Values of an experiment that one run may override.
VALUES = RATE SCALE DURATION WARMUP THREADS CONNECTIONS VARIANT ENGINE WORKERS SELECTORS QUEUE_CAPACITY PROFILE RUNTIME
SETTINGS = NAME $(VALUES) REPEAT RESUME STRICT $(HERE)
COMPARE_SETTINGS = $(VALUES) BLOCKS X METRIC SEED FORCE $(HERE)
# A target refuses a setting that it would ignore: $(call takes,NAME KEEP …) at the beginning of its recipe.
GIVEN = $(filter-out -%,$(foreach v,$(.VARIABLES),$(if $(filter command line,$(origin $(v))),$(v))))
takes = $(if $(filter-out $(1),$(GIVEN)),echo 'no such setting: $(filter-out $(1),$(GIVEN)); available: $(strip $(1))' >&2; exit 2)

##@ Experiments
.PHONY: experiment list results variants validate doctor parse-load
experiment: ## run one: make experiment NAME=stack-get [RATE=20000|auto] [SCALE=0.3] [DURATION=20s] [RUNTIME=local|docker|kubernetes] …
	@$(if $(filter command line,$(origin NAME)),,echo 'NAME is missing: make experiment NAME=stack-get (make list shows them all)' >&2; exit 2)
	@$(call takes,$(SETTINGS))
	@bin/lab run $(call quote,$(NAME)) $(OVERRIDES)
.PHONY: manifests
manifests: ## the objects that RUNTIME=kubernetes makes (docs/cluster.md): make manifests NAME=stack-get [GENERATORS=2] [SPREAD=off] …
	@$(if $(filter command line,$(origin NAME)),,echo 'NAME is missing: make manifests NAME=stack-get (make list shows them all)' >&2; exit 2)
	@$(call takes,$(SETTINGS))
	@bin/lab manifests $(call quote,$(NAME)) $(call given,THREADS,--threads) $(call given,CONNECTIONS,--connections)
.PHONY: search capacity
# The settings of every step of a search, as KEY=VALUE words.
STEP_WORDS = $(foreach v,$(filter-out RUNTIME,$(VALUES)) REPEAT,$(if $(filter command line,$(origin $(v))),$(call quote,$(v)=$($(v)))))
search: ## the highest rate that holds a limit: make search NAME=stack-get SLO='p99.9<100ms' [VARIANT=queue] [RESUME=1] …
	@$(if $(and $(filter command line,$(origin NAME)),$(filter command line,$(origin SLO))),,echo "NAME or SLO is missing: make search NAME=stack-get SLO='p99.9<100ms'" >&2; exit 2)
	@$(call takes,NAME SLO RESUME $(VALUES) REPEAT $(HERE))
	@bin/lab search $(call given,RUNTIME,--runtime) $(call quote,$(NAME)) $(call quote,$(SLO)) $(STEP_WORDS)
capacity: ## the highest rate that this machine serves, for RATE=auto: make capacity NAME=stack-get
	@$(if $(filter command line,$(origin NAME)),,echo 'NAME is missing: make capacity NAME=stack-get (make list shows them all)' >&2; exit 2)
	@$(call takes,NAME $(VALUES) REPEAT $(HERE))
	@bin/lab capacity $(call given,RUNTIME,--runtime) $(call quote,$(NAME)) $(STEP_WORDS)
.PHONY: suite suites
suite: ## run several experiments, interleaved, and write one page with findings: make suite NAME=queues [ROUNDS=6] [SCALE=0.3] [DURATION=3s] [RESUME=1] [FORCE=1] …
	@$(if $(filter command line,$(origin NAME)),,echo 'NAME is missing: make suite NAME=queues (make suites shows them all)' >&2; exit 2)
	@$(call takes,NAME ROUNDS SCALE SEED DURATION WARMUP PROFILE RUNTIME RESUME FORCE $(HERE))
	@bin/lab suite $(call quote,$(NAME)) $(call given,ROUNDS,--rounds) $(call given,SCALE,--scale) $(call given,SEED,--seed) \
	  $(call given,DURATION,--duration) $(call given,WARMUP,--warmup) $(call given,PROFILE,--profile) $(call given,RUNTIME,--runtime) \
	  $(if $(filter 1,$(RESUME)),--resume) $(if $(filter 1,$(FORCE)),--force)
.PHONY: findings
findings: ## keep the newest complete suite of that name as docs/findings/NAME: make findings NAME=queues
	@$(if $(filter command line,$(origin NAME)),,echo 'NAME is missing: make findings NAME=queues (make suites shows them all)' >&2; exit 2)
	@$(call takes,NAME)
	@bin/lab findings $(call quote,$(NAME))
suites: ## the suites
	@bin/lab suites
list: ## the experiments
	@bin/lab list
results: ## all runs, newest first [NAME=stack-get] [VARIANT=queue] [SINCE=7d] [VALID=1] [LAST=50]; and results/index.html
	@$(call takes,NAME VARIANT RUNTIME SINCE VALID LAST)
	@bin/lab results $(call given,VARIANT,--variant) $(call given,RUNTIME,--runtime) $(call given,SINCE,--since) \
	  $(if $(filter 1,$(VALID)),--valid) $(call given,LAST,--last) $(call given,NAME,--)
	@bin/lab index
.PHONY: export prune tag changes
changes: ## when an experiment changed, by its ratio to another one run beside it: make changes NAME=stack-get AGAINST=sync-get [METRIC=p99]
	@$(if $(and $(filter command line,$(origin NAME)),$(filter command line,$(origin AGAINST))),,echo 'NAME and AGAINST are missing: make changes NAME=stack-get AGAINST=sync-get' >&2; exit 2)
	@$(call takes,NAME AGAINST METRIC)
	@bin/lab changes $(call quote,$(NAME)) $(call quote,$(AGAINST)) $(call given,METRIC,--metric)
export: ## pack a run, or a suite with its runs, into one .tar.gz: make export RUN=stack-get/20261121T091433Z [OUT=file]
	@$(if $(filter command line,$(origin RUN)),,echo 'RUN is missing: make export RUN=stack-get/20261121T091433Z (make results shows the runs)' >&2; exit 2)
	@$(call takes,RUN OUT)
	@bin/lab export $(call quote,$(RUN)) $(call given,OUT,--out)
tag: ## tag a run, so that it is kept: make tag RUN=stack-get/20261121T091433Z TAG=baseline
	@$(if $(and $(filter command line,$(origin RUN)),$(filter command line,$(origin TAG))),,echo 'RUN and TAG are missing: make tag RUN=stack-get/20261121T091433Z TAG=baseline' >&2; exit 2)
	@$(call takes,RUN TAG)
	@bin/lab tag $(call quote,$(RUN)) $(call quote,$(TAG))
prune: ## remove old runs that no suite, comparison or tag refers to: make prune [KEEP=10] [DRY_RUN=1]
	@$(call takes,KEEP DRY_RUN)
	@bin/lab prune $(call given,KEEP,--keep) $(if $(filter 1,$(DRY_RUN)),--dry-run)
.PHONY: diff
diff: build-profiler ## which code changed, with differential flame graphs: make diff A=stack-get B=queue-get [FORCE=1] (runs or experiments)
	@$(if $(and $(filter command line,$(origin A)),$(filter command line,$(origin B))),,echo 'A and B are missing: make diff A=stack-get B=queue-get (make results shows the runs)' >&2; exit 2)
	@$(call takes,A B FORCE)
	@bin/lab diff $(call quote,$(A)) $(call quote,$(B)) $(if $(filter 1,$(FORCE)),--force)
.PHONY: profile-window
profile-window: build-profiler ## flame graphs of a part of a recording: make profile-window RUN=stack-get/20261121T091433Z FROM=10s TO=20s
	@$(if $(filter command line,$(origin RUN)),,echo 'RUN is missing: make profile-window RUN=stack-get/20261121T091433Z FROM=10s TO=20s (make results shows the runs)' >&2; exit 2)
	@$(call takes,RUN FROM TO)
	@bin/lab profile-window $(call quote,$(RUN)) $(call given,FROM,--from) $(call given,TO,--to)
.PHONY: compare
COMPARE_WORDS = $(foreach v,$(filter-out RUNTIME $(HERE),$(COMPARE_SETTINGS)),$(if $(filter command line,$(origin $(v))),$(v)=$(call quote,$($(v)))))
compare: ## is B better, worse, or the same: make compare A=queue-get B='stack-get VARIANT=queue' [BLOCKS=10] [X=5%] [RATE=auto] [DURATION=10s] [FORCE=1] … (experiments or runs)
	@$(if $(and $(filter command line,$(origin A)),$(filter command line,$(origin B))),,echo "A and B are missing: make compare A=queue-get B=stack-get, or B='queue-get VARIANT=stack'" >&2; exit 2)
	@$(call takes,A B $(COMPARE_SETTINGS))
	@bin/lab compare $(call quote,$(A)) $(call quote,$(B)) $(COMPARE_WORDS) $(call given,RUNTIME,--runtime)
.PHONY: profiling-cost
profiling-cost: ## what profiling costs: make profiling-cost NAME=stack-get [BLOCKS=10] [RATE=20000] [DURATION=10s] …
	@$(if $(filter command line,$(origin NAME)),,echo 'NAME is missing: make profiling-cost NAME=stack-get (make list shows them all)' >&2; exit 2)
	@$(call takes,NAME $(COMPARE_SETTINGS))
	@bin/lab profiling-cost $(call quote,$(NAME)) $(COMPARE_WORDS) $(call given,RUNTIME,--runtime)
.PHONY: regress
regress: ## is the service of this checkout worse than an earlier one: make regress BASE=HEAD~1 [NAME=sync-get] [BLOCKS=10] … (local)
	@$(if $(filter command line,$(origin BASE)),,echo 'BASE is missing: make regress BASE=HEAD~1 [NAME=sync-get]' >&2; exit 2)
	@$(call takes,BASE NAME $(filter-out RUNTIME,$(COMPARE_SETTINGS)))
	@bin/lab regress $(call quote,$(BASE)) $(call quote,$(if $(filter command line,$(origin NAME)),$(NAME),sync-get)) $(COMPARE_WORDS)
variants: ## the server variants, generated from the code
	@bin/lab variants
validate: ## check the experiment files without running them; the service is built first [NAME=stack-get]
	@bin/lab validate $(call given,NAME,--)
parse-load: ## print the JSON of a wrk2 report: make parse-load FILE=load.txt
	@$(if $(filter command line,$(origin FILE)),,echo 'FILE is missing: make parse-load FILE=load.txt' >&2; exit 2)
	@bin/lab parse-load $(call quote,$(FILE))
doctor: ## what this machine has and lacks for each runtime, and the command that installs it
	@bin/lab doctor

##@ This machine
.PHONY: calibrate quiet unquiet
calibrate: ## what this machine can do, and the smallest difference that it can show: make calibrate [STARTS=20]
	@bin/lab calibrate $(call given,STARTS,--starts) $(call given,RUNTIME,--runtime)
quiet: ## make this machine quieter, as root: governor, huge pages, interrupts, halts; every change is printed
	@bin/lab quiet
unquiet: ## restore what `make quiet` changed, also after a crash
	@bin/lab unquiet

##@ Stack (docker)
.PHONY: up open down
up: ## start Prometheus, Grafana, node-exporter and the artifact server, to stay up across runs
	@bin/lab up
open: ## print the addresses of the stack, and open Grafana and the results in a browser
	@bin/lab open
down: ## stop all containers of the lab
	@bin/lab down

##@ Build
.PHONY: build build-service build-loadgen build-profiler clean
build: build-service build-loadgen build-profiler ## everything that the local runtime needs
build-service: $(SERVICE_JAR) ## the Java service
build-loadgen: $(LOADGEN_BUILT) ## the load generator
build-profiler: $(PROFILE) $(PROFILE_LIB) ## the profile command and async-profiler

$(SERVICE_JAR): $(SERVICE_SOURCES)
	@bin/find-jdk >/dev/null
	@$(MVN) -f service/pom.xml -Dmaven.test.skip package -pl server -am
	@touch $@
$(LOADGEN_BUILT): $(LOADGEN_SOURCES)
	@cargo build --quiet --locked --release --manifest-path loadgen/Cargo.toml
	@touch $@
$(PROFILE): $(PROFILER_SOURCES)
	@cargo build --quiet --locked --release --manifest-path profiler/Cargo.toml
	@touch $@
$(PROFILE_LIB): profiler/pom.xml $(shell find profiler/converter -name '*.java' 2>/dev/null)
	@bin/find-jdk >/dev/null
	@$(MVN) -f profiler/pom.xml package
	@touch $@

clean: ## remove builds (results and datasets stay)
	@rm -rf service/*/target loadgen/target profiler/target .venv

##@ Test
.PHONY: test compile-loadgen-tests test-service test-loadgen test-profiler test-dashboards test-lab test-e2e
# Whole experiments wait for most of their time, and no test holds their rate or latency to a limit. So the tests of the
# service and the profiler, and the load generator's compilation, come beside them and yield to them. The lab's tests
# keep both CPUs busy; the load generator's measure, and run alone. No test needs the packaged benchmarks; that they can
# be packaged is shown at the end, when no experiment uses the service's package any more.
# A room that fails does not keep the others from running. The last lines say what failed, and which tests were left out
# because a program is missing that experiments do not need.
OUTCOMES = .cache/test-outcomes
test: ## everything: unit, property and end-to-end tests
	@mkdir -p .cache && : >$(OUTCOMES)
	@$(MAKE) tried-test-lab
	@$(MAKE) tried-build
	@$(MAKE) -j2 tried-test-e2e tried-test-service tried-compile-loadgen-tests tried-test-profiler
	@$(MAKE) tried-test-loadgen tried-test-dashboards tried-build-bench
	@cat $(OUTCOMES); ! grep -q ^failed: $(OUTCOMES)
tried-%:
	@TESTS_LEFT_OUT='$(CURDIR)/$(OUTCOMES)' $(MAKE) --keep-going $* || echo 'failed: make $*' >>$(OUTCOMES)
compile-loadgen-tests:
	nice cargo test --quiet --locked --no-run --manifest-path loadgen/Cargo.toml
test-service: ## storage engine and server
	@bin/find-jdk >/dev/null
	nice $(MVN) -f service/pom.xml test
# More threads than CPUs: most tests wait for servers that wait. Tests that measure run one at a time.
test-loadgen: ## load generator
	RUST_TEST_THREADS=8 cargo test --quiet --locked --manifest-path loadgen/Cargo.toml
# More threads than CPUs: most tests wait for a recording of three seconds. Those that need root are ignored without it.
test-profiler: $(PROFILE_LIB) ## profile command and pictures
	nice cargo test --quiet --locked --no-run --manifest-path profiler/Cargo.toml
	RUST_TEST_THREADS=4 cargo test --quiet --locked --manifest-path profiler/Cargo.toml -- $(if $(filter 0,$(shell id -u)),--include-ignored)
# More processes than CPUs: most tests wait for fakes that wait.
test-lab: ## experiments, phases, analysis, report (pages in headless Chromium, if it is installed)
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -rs -n 6 lab/tests --ignore lab/tests/e2e
test-dashboards: ## Prometheus configuration and rules, dashboards
	@$(DEVELOPERS_PACKAGES)
	PYTHONPATH=lab/src $(VENV)/python dashboards/check.py
# One process makes the runs; another takes the tests that measure nothing.
test-e2e: build ## whole experiments in both runtimes; docker's only if an engine answers
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -n 2 lab/tests/e2e

.PHONY: test-kubernetes
# One node, which generators and service share; each side has one of the two CPUs.
test-kubernetes: build ## whole experiments in a cluster of one node made for it, as root; not part of `make test` (docs/cluster.md)
	@$(DEVELOPERS_PACKAGES)
	@kubernetes/cluster missing >/dev/null || { echo "test-kubernetes did not run: $$(kubernetes/cluster missing)"; exit 1; }
	docker/engine up
	docker compose build --progress plain service loadgen profiler >/dev/null
	kubernetes/cluster up
	kubernetes/cluster load lsmlab-service lsmlab-loadgen lsmlab-profiler
	code=0; LAB_TEST_KUBERNETES=1 KUBECONFIG=/run/lsmlab-cluster/kubeconfig GENERATORS=2 SPREAD=off SERVICE_CPUS=1 LOAD_CPUS=0 IMAGE_PULL=Never \
	  $(PYTEST) -ra lab/tests/e2e/test_main_job.py lab/tests/e2e/test_kubernetes.py lab/tests/e2e/test_kubernetes_settings.py || code=$$?; kubernetes/cluster down; exit $$code

##@ Torture (the long forms of tests, not part of `make test`)
.PHONY: torture torture-storage torture-loadgen torture-lab torture-verdict
torture: torture-storage torture-server torture-loadgen torture-lab torture-verdict torture-profiling torture-categories ## every room's long tests
torture-storage: ## crashes, 10,000 seeds each; 30 kills a durability; full disks; about 15 minutes
	@bin/find-jdk >/dev/null
	$(MVN) -f service/pom.xml -pl storage test -Dtest='CrashTest,GroupCommitCrashTest,ModelTest,LinearizabilityTest,RegisterCheckerTest,ErrorInjectionTest,DamageTest,MappedDamageTest,CompactionJobTest,PiecewiseCompactionTest,WalPreallocatorTest,LogBytesKillTest' \
	  -Dlsmlab.crash.seeds=10000 -Dlsmlab.models=3000 -Dlsmlab.histories=5000 -Dlsmlab.kills=30
	$(MVN) -f service/pom.xml -pl server -am test -Dtest='KillLoopTest,DiskFullTest,EnginesTest' -Dsurefire.failIfNoSpecifiedTests=false \
	  -Dlsmlab.kills=30
torture-loadgen: ## the load generator's long tests, 80 minutes: 100,000 runs in virtual time, 50 M inputs of the parser, 20 stalls, an hour of load [SOAK_SECONDS=3600]
	cd loadgen && VIRTUAL_RUNS=100000 cargo test --quiet --locked --release --lib virtual_time
	cd loadgen && FUZZ_INPUTS=50000000 cargo test --quiet --locked --release --test parser_fuzz
	cd loadgen && cargo test --quiet --locked --release --test truth -- --include-ignored --test-threads=1
	cd loadgen && cargo test --quiet --locked --release --test runs shapes:: -- --include-ignored --test-threads=1
	cd loadgen && SOAK_SECONDS=$(or $(SOAK_SECONDS),3600) cargo test --quiet --locked --release --test runs endurance::

torture-lab: build ## disturbances and differences planted into real runs, searches, the overhead of the lab, on a quiet machine; an hour
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -m torture --ignore-glob='*/test_profiling_*' --ignore-glob='*/test_verdict_*' lab/tests/e2e
torture-verdict: build ## checks that quiet runs are valid and disturbed ones are not: ten of each, on a quiet machine; 16 minutes [RUNS=10]
	@$(DEVELOPERS_PACKAGES)
	VERDICT_RUNS=$(or $(RUNS),10) $(PYTEST) -ra -s -m torture lab/tests/e2e/disturbances/test_verdict_series.py

.PHONY: torture-profiling torture-categories
torture-profiling: build ## checks that profiles show hot spots, pauses and differences planted into real runs; 15 minutes, on a quiet machine
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -s -m torture lab/tests/e2e/test_profiling_hot_spots.py lab/tests/e2e/test_profiling_real_runs.py
torture-categories: build ## checks that little of each experiment's profile is unclassified, by brief runs; 20 minutes [TESTS='-k rocksdb']
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -s -m torture lab/tests/e2e/test_profiling_categories.py $(TESTS)

.PHONY: torture-server
torture-server: ## server, long (about 5 minutes): a million fuzzed inputs, every variant stopped under load, crowds of connections; FUZZ='-Dfuzz.seed=2 …'
	@bin/find-jdk >/dev/null
	$(MVN) -f service/pom.xml test -pl server -am -Dgroups=slow -DexcludedGroups= -Dtest='HttpFuzzTest,StopTest,CrowdTest' -Dsurefire.failIfNoSpecifiedTests=false $(FUZZ)

##@ Benchmarks
.PHONY: bench-storage bench-loadgen bench-server bench-overload bench-monitoring build-bench
RUN_BENCH = LC_ALL=C.UTF-8 "$(JDK)/bin/java" --sun-misc-unsafe-memory-access=allow -jar service/bench/target/bench/lsmlab-bench.jar
bench-loadgen: ## compare the load generator with wrk (Debian: apt install wrk) and with a server's log; 8 minutes: make bench-loadgen [BENCH=--quick]
	cd loadgen && cargo bench --quiet --locked --bench peer -- --update-docs ../docs/benchmarks.md $(BENCH)
bench-storage: build-bench ## compare the engine with RocksDB, default and tuned; about an hour: make bench-storage [BENCH=--quick]
	$(RUN_BENCH) storage --update-docs docs/benchmarks.md $(BENCH)
bench-server: build-bench build-service build-loadgen ## what a request costs, layer by layer and variant by variant; 45 minutes: make bench-server [BENCH=--quick]
	$(RUN_BENCH) server --update-docs docs/benchmarks.md $(BENCH)
bench-overload: build-bench build-service build-loadgen ## every variant at twice its saturated rate, 70 s for each variant and setting: make bench-overload [BENCH='--variants sync,queue']
	$(RUN_BENCH) server --overload --update-docs docs/benchmarks.md $(BENCH)
bench-monitoring: build ## what Prometheus and node-exporter cost the service, 5 minutes on a quiet machine: make bench-monitoring [BENCH=--quick]
	@$(DEVELOPERS_PACKAGES)
	PYTHONPATH=lab/src $(VENV)/python dashboards/cost.py --update-docs docs/benchmarks.md $(BENCH)
build-bench:
	@bin/find-jdk >/dev/null
	@$(MVN) -f service/pom.xml -Dmaven.test.skip package -pl bench -am

##@ Code
.PHONY: lint lint-service lint-loadgen lint-profiler lint-lab format
lint: lint-service lint-loadgen lint-profiler lint-lab ## formatters and linters of every language, warnings denied; no package cycles
lint-service:
	$(MVN) -f service/pom.xml spotless:check
	$(MVN) -f service/pom.xml test -pl bench -am -Dtest=PackagesTest -Dsurefire.failIfNoSpecifiedTests=false
lint-loadgen:
	cargo fmt --all --check --manifest-path loadgen/Cargo.toml
	cargo clippy --quiet --locked --workspace --all-targets --manifest-path loadgen/Cargo.toml -- -D warnings
lint-profiler:
	cargo fmt --check --manifest-path profiler/Cargo.toml
	cargo clippy --quiet --locked --all-targets --manifest-path profiler/Cargo.toml -- -D warnings
lint-lab:
	@$(DEVELOPERS_PACKAGES)
	$(VENV)/ruff check lab dashboards
	$(VENV)/ruff format --check lab dashboards
	$(VENV)/mypy --config-file lab/pyproject.toml lab/src
	$(PYTEST) lab/tests/test_packages.py
format: ## reformat all sources
	$(MVN) -f service/pom.xml spotless:apply
	cargo fmt --all --manifest-path loadgen/Cargo.toml
	cargo fmt --manifest-path profiler/Cargo.toml
	@$(DEVELOPERS_PACKAGES)
	$(VENV)/ruff check --fix lab dashboards
	$(VENV)/ruff format lab dashboards

.PHONY: help
help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nStart here: make experiment NAME=stack-get\n'
