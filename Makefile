# Every target sets itself up in .venv; a fresh machine needs only python3 and make.
PYTHON ?= python3
BIN := .venv/bin
STUDY := .venv/.study
DEV := .venv/.dev

.PHONY: arena reproduce demo test lint bench clean

reproduce: $(STUDY)  ## the paper's experiments and claims, in minutes: reproduction/index.html
	$(BIN)/thrifty reproduce

arena: $(STUDY)  ## every policy on a wide suite, ranked: arena/index.html
	$(BIN)/thrifty arena

demo: $(STUDY)  ## the lower bound of every instance in the catalog
	$(BIN)/thrifty bound --all

test: lint  ## linters, types, layers, then every test
	$(BIN)/pytest -n auto --dist worksteal

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)  ## measures and rewrites benchmarks/RESULTS.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(STUDY): pyproject.toml  # what simulations, figures and pages need
	@$(PYTHON) -c 'import sys; sys.exit("thrifty needs Python 3.11 or later: try make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[study]'
	touch $(STUDY)

$(DEV): $(STUDY)  # and what tests and linters need
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(DEV)
