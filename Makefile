# The entry point of the lab. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
# Every target with a description, and those that only others need.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' Makefile) compile-loadgen-tests build-bench

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
# Ten HTTP servers, which no experiment of ours needs.
SERVERS_POM = examples/servers/pom.xml
SERVICE_SOURCES := $(shell find service -path '*/target' -prune -o -path '*/src/test' -prune -o \( -name '*.java' -o -name pom.xml -o -path '*/resources/*' \) -type f -print 2>/dev/null)
LOADGEN_SOURCES := $(shell find loadgen -path loadgen/target -prune -o \( -name '*.rs' -o -name 'Cargo.*' -o -name '*.lua' \) -type f -print 2>/dev/null)
PROFILER_SOURCES := $(shell find profiler -path profiler/target -prune -o \( -name '*.rs' -o -name 'Cargo.*' -o -name '*.toml' -o -name '*.ttf' \) -type f -print 2>/dev/null)

# What is given on make's command line, and only there, becomes options of the lab: RATE=20000 is --rate '20000', and
# RESUME=1 is --resume; RESUME=0 and an empty one are nothing. The lab refuses an option that a command does not have.
GIVEN = $(filter-out -%,$(foreach v,$(.VARIABLES),$(if $(filter command line,$(origin $(v))),$(v))))
FLAGS = RESUME STRICT FORCE VALID DRY_RUN
quote = '$(subst ','\'',$(1))'
option = --$(shell echo $(1) | tr A-Z_ a-z-)
flag = $(if $(filter-out 0,$($(1))),$(call option,$(1))$(if $(filter 1,$($(1))),,=$(call quote,$($(1)))))
options = $(foreach v,$(filter-out $(1),$(GIVEN)),$(if $(filter $(v),$(FLAGS)),$(call flag,$(v)),$(call option,$(v)) $(call quote,$($(v)))))
# $(call lab,COMMAND,WORDS that must be given,WORDS that may be): these words are the command's arguments.
lab = $(foreach v,$(2),$(if $(filter $(v),$(GIVEN)),,$(error $(v) is missing; see make help)))bin/lab $(1) \
  $(call options,$(2) $(3)) $(if $(filter $(2) $(3),$(GIVEN)),--) $(foreach v,$(2) $(3),$(if $(filter $(v),$(GIVEN)),$(call quote,$($(v)))))

# Each of these targets is the lab's command of its name. `needs` are words that must be given, `takes` words that may be.
needs =
takes =
LAB_COMMANDS = experiment compare search suite list suites variants check capacity regress profiling-cost findings manifests \
  changes export tag prune diff profile-window parse-load calibrate quiet unquiet up open down
$(LAB_COMMANDS):
	@$(call lab,$(patsubst experiment,run,$@),$(needs),$(takes))
regress: takes = NAME
diff: build-profiler
profile-window: build-profiler

##@ Experiments
experiment: needs = NAME ## run one: make experiment NAME=stack-get [RATE=20000|auto] [SCALE=0.3] [DURATION=20s] [RUNTIME=local|docker|kubernetes] …
compare: takes = C D E F
compare: needs = A B ## is B better, worse, or the same: make compare A=queue-get B='stack-get VARIANT=queue' [C=… to F=…] [BLOCKS=10] [X=5%] [RATE=auto] [DURATION=10s] [FORCE=1] … (experiments or runs)
search: needs = NAME SLO ## the highest rate that holds a limit: make search NAME=stack-get SLO='p99.9<100ms' [VARIANT=queue] [RESUME=1] …
suite: needs = NAME ## run several experiments, interleaved, and write one page with findings: make suite NAME=queues [ROUNDS=6] [SCALE=0.3] [DURATION=3s] [RESUME=1] [FORCE=1] …
list: ## the experiments
suites: ## the suites
variants: ## the server variants, generated from the code
check: takes = NAME ## what this machine has and lacks, with the commands that install it; or, with [NAME=stack-get|experiments], what is wrong with experiment files
capacity: needs = NAME ## the highest rate that this machine serves, for RATE=auto: make capacity NAME=stack-get
regress: needs = BASE ## is the service of this checkout worse than an earlier one: make regress BASE=HEAD~1 [NAME=sync-get] [BLOCKS=10] … (local)
profiling-cost: needs = NAME ## what profiling costs: make profiling-cost NAME=stack-get [BLOCKS=10] [RATE=20000] [DURATION=10s] …
findings: needs = NAME ## keep the newest complete suite of that name as docs/findings/NAME: make findings NAME=queues
manifests: needs = NAME ## the objects that RUNTIME=kubernetes makes (docs/cluster.md): make manifests NAME=stack-get [GENERATORS=2] [SPREAD=off] …

##@ Runs
results: ## all runs, newest first [NAME=stack-get] [SERVICE=queue] [SINCE=7d] [VALID=1] [LAST=50]; and results/index.html
	@$(call lab,results,,NAME)
	@bin/lab index
changes: needs = NAME AGAINST ## when an experiment changed, by its ratio to another one run beside it: make changes NAME=stack-get AGAINST=sync-get [METRIC=p99]
export: needs = RUN ## pack a run, or a suite with its runs, into one .tar.gz: make export RUN=stack-get/20261121T091433Z [OUT=file]
tag: needs = RUN TAG ## tag a run, so that it is kept: make tag RUN=stack-get/20261121T091433Z TAG=baseline
prune: ## remove old runs that no suite, comparison or tag refers to: make prune [KEEP=10] [DRY_RUN=1]
diff: needs = A B ## which code changed, with differential flame graphs: make diff A=stack-get B=queue-get [FORCE=1] (runs or experiments)
profile-window: needs = RUN ## flame graphs of a part of a recording: make profile-window RUN=stack-get/20261121T091433Z FROM=10s TO=20s
parse-load: needs = FILE ## print the JSON of a wrk2 report: make parse-load FILE=load.txt

##@ This machine
calibrate: ## what this machine can do, and the smallest difference that it can show: make calibrate [STARTS=20]
quiet: ## make this machine quieter, as root: governor, huge pages, interrupts, halts; every change is printed
unquiet: ## restore what `make quiet` changed, also after a crash

##@ Stack (docker)
up: ## start Prometheus, Grafana, node-exporter and the artifact server, to stay up across runs
open: ## print the addresses of the stack, and open Grafana and the results in a browser
down: ## stop all containers of the lab

##@ Build
build: build-service build-loadgen build-profiler ## everything that the local runtime needs
build-service: $(SERVICE_JAR) ## the Java service
build-loadgen: $(LOADGEN_BUILT) ## the load generator
build-profiler: $(PROFILE) $(PROFILE_LIB) ## the profile command and async-profiler
# Maven leaves the jars of earlier versions of a dependency beside the new ones.
$(SERVICE_JAR): $(SERVICE_SOURCES)
	@bin/find-jdk >/dev/null
	@$(if $(filter %pom.xml,$?),rm -rf $(@D)/lib)
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
build-servers: ## the example servers (examples/README.md); not part of `make build`
	@bin/find-jdk >/dev/null
	@$(MVN) -f $(SERVERS_POM) package
clean: ## remove builds (results and datasets stay)
	@rm -rf service/*/target examples/servers/*/target loadgen/target profiler/target .venv

##@ Test
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
	$(PYTEST) -rs -n 8 lab/tests --ignore lab/tests/e2e
test-dashboards: ## Prometheus configuration and rules, dashboards
	@$(DEVELOPERS_PACKAGES)
	PYTHONPATH=lab/src $(VENV)/python dashboards/check.py
# One process makes the runs; another takes the tests that measure nothing.
test-e2e: build ## whole experiments in both runtimes; docker's only if an engine answers
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -n 2 lab/tests/e2e
test-servers: build-servers ## every example server keeps its contract, a minute; not part of `make test` (examples/README.md)
	env JAVA_HOME="$(JDK)" python3 -m unittest discover -s examples
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
torture: torture-storage torture-server torture-loadgen torture-lab torture-verdict torture-profiling torture-categories ## every room's long tests
torture-storage: ## crashes, 10,000 seeds each; 30 kills a durability; full disks; about 15 minutes
	@bin/find-jdk >/dev/null
	$(MVN) -f service/pom.xml -pl storage test -Dtest='CrashTest,LifetimeTest,GroupCommitCrashTest,ModelTest,LinearizabilityTest,RegisterCheckerTest,ErrorInjectionTest,DamageTest,MappedDamageTest,CompactionJobTest,PiecewiseCompactionTest,WalPreallocatorTest,LogBytesKillTest' \
	  -Dlsmlab.crash.seeds=10000 -Dlsmlab.lifetimes=10000 -Dlsmlab.models=3000 -Dlsmlab.histories=5000 -Dlsmlab.kills=30
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
torture-profiling: build ## checks that profiles show hot spots, pauses and differences planted into real runs; 15 minutes, on a quiet machine
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -s -m torture lab/tests/e2e/test_profiling_hot_spots.py lab/tests/e2e/test_profiling_real_runs.py
torture-categories: build ## checks that little of each experiment's profile is unclassified, by brief runs; 20 minutes [TESTS='-k rocksdb']
	@$(DEVELOPERS_PACKAGES)
	$(PYTEST) -ra -s -m torture lab/tests/e2e/test_profiling_categories.py $(TESTS)
torture-server: ## server, long (about 5 minutes): a million fuzzed inputs, every variant stopped under load, crowds of connections; FUZZ='-Dfuzz.seed=2 …'
	@bin/find-jdk >/dev/null
	$(MVN) -f service/pom.xml test -pl server -am -Dgroups=slow -DexcludedGroups= -Dtest='HttpFuzzTest,StopTest,CrowdTest' -Dsurefire.failIfNoSpecifiedTests=false $(FUZZ)

##@ Benchmarks
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
lint: lint-service lint-loadgen lint-profiler lint-lab ## formatters and linters of every language, warnings denied; no package cycles
lint-service:
	$(MVN) -f service/pom.xml spotless:check
	$(MVN) -f $(SERVERS_POM) -N spotless:check
	$(MVN) -f service/pom.xml test -pl bench -am -Dtest=PackagesTest -Dsurefire.failIfNoSpecifiedTests=false
lint-loadgen:
	cargo fmt --all --check --manifest-path loadgen/Cargo.toml
	cargo clippy --quiet --locked --workspace --all-targets --manifest-path loadgen/Cargo.toml -- -D warnings
lint-profiler:
	cargo fmt --check --manifest-path profiler/Cargo.toml
	cargo clippy --quiet --locked --all-targets --manifest-path profiler/Cargo.toml -- -D warnings
lint-lab:
	@$(DEVELOPERS_PACKAGES)
	$(VENV)/ruff check lab dashboards examples
	$(VENV)/ruff format --check lab dashboards examples
	$(VENV)/mypy --config-file lab/pyproject.toml lab/src
	$(PYTEST) lab/tests/test_packages.py
format: ## reformat all sources
	$(MVN) -f service/pom.xml spotless:apply
	$(MVN) -f $(SERVERS_POM) -N spotless:apply
	cargo fmt --all --manifest-path loadgen/Cargo.toml
	cargo fmt --manifest-path profiler/Cargo.toml
	@$(DEVELOPERS_PACKAGES)
	$(VENV)/ruff check --fix lab dashboards examples
	$(VENV)/ruff format lab dashboards examples

help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nStart here: make experiment NAME=stack-get\n'
