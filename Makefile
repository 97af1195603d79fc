# The words a developer types. `make test` needs nothing but Python 3.11 or 3.12.

PYTHON ?= $(shell for p in python3.12 python3.11 python3; do \
	$$p -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] < (3, 13))' \
	2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= ../shared/data
NATIVE := tests/conformance tests/approximation tests/learners

.DEFAULT_GOAL := help
.PHONY: help test check bounds format bench accuracy compare papers soak golden clean

help: ## show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "okl-flow needs Python 3.11 or 3.12; none was found" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

test: check ## install into .venv what is missing, then check everything

check: $(READY) ## format, lint, types, tests and the examples in the documents
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto
	$(MAKE) bounds

bounds: $(READY) ## the learners' tests once more, with every index of the native loops checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/python -m pytest -q -n auto $(NATIVE)

format: $(READY) ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure the speed of learners and operators, into benchmarks/results/
	$(BIN)/python -m benchmarks.learners
	$(BIN)/python -m benchmarks.systems
	$(BIN)/python -m benchmarks.engine

accuracy: $(READY) ## the README's table of mistake rates, from the files in DATA
	$(BIN)/python -m benchmarks.accuracy --data $(DATA) --plain

compare: $(READY) ## every learner beside its neighbours, from the files in DATA: hours at first
	$(BIN)/python -m pip install --quiet --editable '.[peers]' || echo "without Vowpal Wabbit"
	$(BIN)/python -m benchmarks.peers --data $(DATA)
	$(BIN)/python -m benchmarks.compare --data $(DATA)

papers: $(READY) ## the tables and figures of the four papers, from the files in DATA
	$(BIN)/python -m benchmarks.papers --data $(DATA)

soak: $(READY) ## ten million events through every bounded learner, into benchmarks/results/
	$(BIN)/python -m benchmarks.soak

golden: $(READY) ## write the golden snapshots that a new learner or format lacks
	$(BIN)/python -m tests.golden

clean: ## remove the environment, and all that tools left behind
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
