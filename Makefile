# Every target sets itself up in .venv; a fresh machine needs only python3 (3.11 or later) and make.
PYTHON ?= python3
TESTS ?=
BIN := .venv/bin
XDIST := -n auto --dist worksteal
PIP := $(BIN)/python -m pip install --disable-pip-version-check

.DEFAULT_GOAL := help
UV := $(BIN)/uv pip
LOWEST := $(addprefix tests/service/test_,who_may.py api.py limits.py slow.py client.py passing_on.py tokens.py)
.PHONY: help reproduce test check lowest browser node types fuzz arena demo serve lint bench lock warm-up clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

reproduce: .venv/.ready  ## the paper's panels and claims, quick: reproduction/index.html
	$(BIN)/thrifty reproduce

test: browser node lint  ## everything that has to pass: linters, types, layers, all tests
	$(BIN)/pytest $(XDIST) $(TESTS)

check: lint  ## in a minute: linters, types, layers, and the quick tests of every package
	$(BIN)/pytest $(XDIST) -m 'not (slow or browser or postgres or kills or fuzz)' $(TESTS)

lowest: .venv-lowest/.ready  ## the service's doors, with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n 2 --dist worksteal -m 'not (browser or postgres or kills)' \
		$(or $(TESTS),$(LOWEST))

browser: .venv/.ready-dev
	@$(BIN)/python -m tests.browser

node: .venv/.ready-dev
	@$(BIN)/python -m tests.node

types: .venv/.ready-dev  ## renew the types of the client in JavaScript from the service
	$(BIN)/python -m tests.node types

fuzz: .venv/.ready-dev  ## an hour of random attacks: files, calls, signals, kill -9, certificates, the service
	THRIFTY_CASES=1000 $(BIN)/pytest tests/service/test_model.py tests/service/test_schema.py
	THRIFTY_FUZZ_SECONDS=1200 THRIFTY_FUZZ_SEED=$$(date +%s) $(BIN)/pytest -n 2 tests/fuzz

arena: .venv/.ready  ## every policy on a wide suite of instances, ranked: arena/index.html
	$(BIN)/thrifty arena

demo: .venv/.ready  ## the lower bound of every instance in the catalog
	$(BIN)/thrifty bound --all

serve: .venv/.ready-service  ## decisions over HTTP, with visitors to look at: http://127.0.0.1:8080
	$(BIN)/thrifty serve --demo

warm-up: .venv/.ready  ## compile everything for this machine, once
	$(BIN)/thrifty warm-up

lint: .venv/.ready-dev  ## ruff, mypy (strict), import-linter, generated blocks of the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks.blocks --check

bench: .venv/.ready-dev  ## measure again: benchmarks/RESULTS.md and the tables in the README
	$(PIP) --quiet --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks

lock: .venv/bin/uv  ## renew deploy/requirements.lock: exact versions for deployment, with hashes
	echo 'setuptools>=77' | $(UV) compile --quiet --universal --python-version 3.11 --upgrade \
		--extra service --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--output-file deploy/requirements.lock pyproject.toml -

clean:  ## remove .venv and all caches of tools
	rm -rf .venv .venv-lowest build dist src/*.egg-info clients/js/node_modules
	rm -rf clients/python/build clients/python/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# Installed without --quiet: pip shows what it downloads and installs.
.venv/.ready: pyproject.toml | .venv/bin/python
	$(PIP) --editable '.[study]'
	touch $@

.venv/.ready-service: pyproject.toml | .venv/bin/python
	$(PIP) --editable '.[service]'
	touch $@

.venv/.ready-dev: pyproject.toml | .venv/bin/python
	$(PIP) --editable '.[dev]'
	touch .venv/.ready .venv/.ready-service $@

# Python 3.11: the lowest versions have no wheels for later ones.
.venv-lowest/.ready: pyproject.toml | .venv/bin/uv
	$(BIN)/uv venv --quiet --clear --python 3.11 .venv-lowest
	$(UV) install --python .venv-lowest --resolution lowest-direct --editable '.[dev]'
	touch $@

.venv/bin/uv: | .venv/bin/python
	$(PIP) --quiet uv

# A recent pip has a bar for installing, too.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("thrifty needs Python 3.11 or later: try make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
	$(PIP) --quiet --upgrade 'pip>=25.1'
