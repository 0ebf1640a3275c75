# Every target sets itself up in .venv; a fresh machine needs only python3 and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: arena reproduce demo test lint bench clean

reproduce: $(READY)  ## the paper's experiments and claims, in minutes: reproduction/index.html
	$(BIN)/thrifty reproduce

arena: $(READY)  ## every policy on a wide suite, ranked: arena/index.html
	$(BIN)/thrifty arena

demo: $(READY)  ## the lower bound of every instance in the catalog
	$(BIN)/thrifty bound --all

test: lint  ## linters, types, layers, then every test
	$(BIN)/pytest -n auto --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## measures and rewrites benchmarks/RESULTS.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("thrifty needs Python 3.11 or later: try make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(READY)
