# `make help` lists what can be done. CI runs `make test`.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SF ?= 0.1
EPOCHS ?= 4
PORT ?= 8080
WORKERS ?= 2
SEED := $(or $(SEED),$(shell date +%s))
# Of what starts Airflow or a browser there is no sample.
DEEP := -m "not airflow and not browser"

.PHONY: help install install-dev run test test-deep check lint types every-test format bench docs clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  settings: SF=1 (scale factor) EPOCHS=4 PORT=8080 ONCE=1 (exit when done) PYTHON=python3.12"

install: $(VENV)/.installed ## make .venv with what running needs
install-dev: $(VENV)/.installed-dev ## the same, and what testing needs

run: $(VENV)/.installed ## the demo: TPC-H under Airflow on Spark; ONCE=1 exits with 0 when every snapshot is right
	@exec $(BIN)/cumulus demo --scale-factor $(SF) --epochs $(EPOCHS) --port $(PORT) $(if $(filter-out 0,$(ONCE)),--once)

test: $(VENV)/.installed-dev lint ## check, and every test, by two processes (WORKERS=0: one; ARGS='-m "not airflow"' narrows it)
	@$(MAKE) --no-print-directory -j2 types every-test  # types take a minute of one processor, and the tests' processes as long to import

every-test:
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-deep: $(VENV)/.installed-dev ## what is drawn at random, from other seeds (SEED=N: those again), and much more of it; ARGS names files
	@echo "SEED=$(SEED)"
	WHOLE=1 EXAMPLES=60 FUZZ_COUNT=5000 FUZZ_PROJECTS=40 ACTS=50 HISTORIES=20 FINALS=30 FINAL_VIEWS=500 DATAFLOWS=200 BARRIERS=5 COMINGS=50 LOSSES=40 \
	TWO_LOST=40 DEPLOYMENTS=40 RECOVERIES=300 FLIPS=1500 ANSWERS=12000 COSTS=30 CALLS=100 INTERLEAVINGS=20 FUZZ_SEED=$(SEED) SEED=$(SEED) \
	$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile=random --hypothesis-seed=$(SEED) --timeout=7200 $(or $(ARGS),$(DEEP))

check: lint types ## lint, format, types, import directions

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## rewrite the code in its format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.installed-dev ## write docs/functions.md from the table of functions
	$(BIN)/python -m m3.sql.page > docs/functions.md.new && mv docs/functions.md.new docs/functions.md

bench: $(VENV)/.installed-bench ## measure beside recomputation and other systems (ARGS='stream --sf 0.1 --queries q3')
	$(BIN)/python -m benchmarks run $(ARGS)

clean: ## remove what runs and tools left (not .venv)
	rm -rf var build *.egg-info papers/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "make: python -m venv failed: on Debian, apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/bin/python
	@VENV=$(VENV) scripts/install .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/bin/python
	@VENV=$(VENV) scripts/install '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/bin/python
	@VENV=$(VENV) scripts/install '.[bench]'
	@touch $@ $(VENV)/.installed
