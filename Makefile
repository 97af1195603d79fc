# The words a developer types. `make demo` and `make test` need nothing but Python 3.11 or 3.12.

PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] < (3, 13))' \
	2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
DATA ?= ../shared/data
WITH_PEERS = $(BIN)/python -m pip install --quiet --editable '.[peers]' || echo "without Vowpal Wabbit"
NATIVE := tests/conformance tests/approximation tests/learners tests/test_pool.py

.DEFAULT_GOAL := help
.PHONY: help demo test check kafka broker bounds docs format bench bench-compare accuracy compare papers soak chaos screenshot golden clean

help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

$(INSTALLED): pyproject.toml
	@test -n "$(PYTHON)" || { echo "okl-flow needs Python 3.11 or 3.12; none was found" >&2; exit 1; }
	@echo "installing okl-flow into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[page,plot]'
	@touch $@

$(READY): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(INSTALLED) ## a flow is killed before your eyes and loses nothing; BROKERS=host:port is Kafka
	@$(BIN)/okl-flow demo $(if $(BROKERS),--brokers $(BROKERS))

test: check ## install into .venv what is missing, then check everything

check: $(READY) kafka ## format, lint, types, tests and the examples in the documents
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy docker/entrypoint.py docker/healthy.py
	$(BIN)/python -m pytest -n auto --dist worksteal
	$(MAKE) bounds

kafka: $(READY) ## fetch the broker that the tests run; install Java and Maven where they may
	tests/kafka/install.sh
	@test -n "$(KAFKA_BOOTSTRAP)" || $(BIN)/python -m tests.kafka.jars

broker: kafka ## run that broker by hand, until Ctrl-C
	$(BIN)/python -m tests.kafka.broker

bounds: $(READY) ## the learners' tests once more, with every index of the native loops checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/python -m pytest -q -n auto $(NATIVE)

docs: $(READY) ## build the documents into site/, to be read without a network
	$(BIN)/python -m docs.book

format: $(READY) ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) kafka ## measure speed, into benchmarks/results/: half an hour; PART=engine is one part
	$(WITH_PEERS)
	$(BIN)/python -m benchmarks.speed $(PART) $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.readme

bench-compare: $(READY) kafka ## measure speed again: what has changed, beyond the noise; PART=engine
	$(WITH_PEERS)
	$(BIN)/python -m benchmarks.speed.changes $(PART) $(if $(QUICK),--quick) $(if $(FRESH),--fresh $(FRESH))

accuracy: $(READY) ## a table of mistake rates, from the files in DATA
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --plain

compare: $(READY) ## every learner beside its neighbours, from the files in DATA: hours at first
	$(WITH_PEERS)
	$(BIN)/python -m benchmarks.peers --data $(DATA)
	$(BIN)/python -m benchmarks.compare --data $(DATA)

papers: $(READY) ## the tables and figures of the four papers, from the files in DATA
	$(BIN)/python -m benchmarks.papers --data $(DATA)

soak: $(READY) ## ten million events through every bounded learner, into benchmarks/results/
	$(BIN)/python -m benchmarks.soak

chaos: kafka ## 300,000 events through jobs over Kafka that are killed 60 times: half an hour
	$(BIN)/python -m tests.kafka.chaos

screenshot: kafka ## pictures of the live page, into docs/images/
	$(BIN)/python -m tests.kafka.screenshot

golden: $(READY) ## write the golden snapshots that a new learner or format lacks
	$(BIN)/python -m tests.golden

clean: ## remove the environment, and all that tools left behind
	rm -rf $(VENV) .kafka site .mypy_cache .pytest_cache .ruff_cache .hypothesis dist okl-flow-demo.png
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
