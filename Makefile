# Each command sets up what it needs: make demo, make studio, make test, make lint, make bench
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# make soak tries so many times as many examples of laws, and random tables, as make test
TIMES := 10

.DEFAULT_GOAL := help
.PHONY: help demo studio test test-fast test-integrations soak wheel wheel-test docs lint format bench fuzz fuzz-short \
  mutations check-all clean

help:
	@echo "make demo        an invented hospital table: checked, published, verified"
	@echo "make studio      the same in a browser"
	@echo "make test        every test"
	@echo "make test-fast   every test that is not marked slow, under a minute"
	@echo "make test-integrations   tclose with dbt, Great Expectations and Jupyter, in an environment of their own"
	@echo "make docs        the documentation as a site, in site/"
	@echo "make soak        long tests: all combinations, wide tables, planted bugs, ten times as many examples of laws"
	@echo "make wheel       the wheel, installed and used without extras on every Python that is here"
	@echo "make wheel-test  the same, with the studio, and with the lowest versions"
	@echo "make lint        ruff and mypy"
	@echo "make bench       speed and memory, as ratios against peers"
	@echo "make fuzz        10,000 damaged files through the command line, under 10 minutes"
	@echo "make mutations   plausible slips, planted one by one in a copy of the sources: the tests must notice them"
	@echo "make check-all   docs, integrations, 1,000 damaged files, wheel-test and soak: what make test leaves out"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("tclose needs Python 3.11 or later: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	@echo "setting up .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

# The page is tested in a real browser: Debian's, where we may install it; elsewhere those tests skip and say how.
.venv/.browser: $(READY)
	@if ! command -v chromium >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing chromium for the tests of the page ..."; \
	  (apt-get update && apt-get install --yes --no-install-recommends chromium) >/dev/null 2>&1 || true; fi
	@touch $@

# Spark is tested on a real cluster of this machine: installed where we may; elsewhere those tests skip and say how.
.venv/.spark: $(READY)
	@if ! command -v java >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Java for the tests of Spark ..."; \
	  (apt-get update && apt-get install --yes --no-install-recommends openjdk-17-jre-headless) >/dev/null 2>&1 || true; fi
	@if command -v java >/dev/null && ! $(BIN)/python -c 'import pyspark' 2>/dev/null; then \
	  echo "installing pyspark for the tests of Spark ..."; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,spark]' >/dev/null 2>&1 || true; fi
	@touch $@

demo: $(READY)
	@$(BIN)/tclose demo --force
	@echo "The same in a browser: make studio, or tclose studio TABLE"

studio: $(READY)
	@$(BIN)/python -c 'from pathlib import Path; from tclose.examples import write_example; \
	  Path("tclose-demo/hospital.csv").exists() or write_example(Path("tclose-demo"), rows=2000, seed=7)'
	@$(BIN)/tclose studio tclose-demo/hospital.csv

test: $(READY) .venv/.browser .venv/.spark
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not soak"

test-fast: $(READY)
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not soak"

.integrations-venv/.ready: tests/integrations/requirements.txt pyproject.toml
	@echo "setting up .integrations-venv with dbt, Great Expectations and Jupyter ..."
	@$(PYTHON) -m venv .integrations-venv
	@.integrations-venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[sql]' --requirement tests/integrations/requirements.txt
	@touch $@

test-integrations: $(READY) .integrations-venv/.ready
	@$(BIN)/python -m pytest tests/integrations tests/sql/test_great_expectations.py

.docs-venv/.ready: docs/requirements.txt pyproject.toml
	@echo "setting up .docs-venv with Sphinx ..."
	@$(PYTHON) -m venv .docs-venv
	@.docs-venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[learn]' --requirement docs/requirements.txt
	@touch $@

docs: $(READY) .docs-venv/.ready
	@rm -rf site
	@.docs-venv/bin/python -m sphinx --quiet --fail-on-warning --keep-going --doctree-dir .docs-venv/doctrees -c docs . site
	@$(BIN)/python -m pytest tests/docs
	@echo "the site is in site/index.html"

soak: $(READY) .venv/.browser .venv/.spark
	@$(BIN)/python -m pytest -n auto --dist worksteal -m soak
	@TCLOSE_EXAMPLES=$(TIMES) $(BIN)/python -m pytest -n auto --dist worksteal -m "repeated and not soak"

wheel: $(READY)
	@$(BIN)/python tests/typing/wheel.py --without-extras

wheel-test: $(READY)
	@$(BIN)/python tests/typing/wheel.py

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.bench-venv/.ready: bench/peers.txt
	@echo "setting up .bench-venv with the peers ..."
	@$(PYTHON) -m venv .bench-venv
	@.bench-venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement bench/peers.txt
	@touch $@

bench: $(READY) .bench-venv/.ready
	@$(BIN)/python bench/check.py
	@$(BIN)/python bench/release.py
	@$(BIN)/python bench/quality.py --rivals
	@$(BIN)/python bench/squared.py
	@$(BIN)/python bench/bound.py
	@$(BIN)/python bench/bound.py tiny 5000
	@$(BIN)/python bench/speed.py
	@$(BIN)/python bench/report.py
	@$(BIN)/python bench/growth.py
	@$(BIN)/python bench/studio.py

fuzz: $(READY)
	@$(BIN)/python bench/fuzz

fuzz-short: $(READY)
	@$(BIN)/python bench/fuzz --cases 1000

mutations: $(READY) .venv/.spark
	@$(BIN)/python bench/mutations.py

# One after the other: each may use all cores.
check-all:
	@for part in docs test-integrations fuzz-short wheel-test soak; do \
	  echo "make $$part ..."; $(MAKE) --no-print-directory $$part || exit 1; done
	@echo "docs, integrations, fuzz, wheel-test and soak pass"

clean:
	rm -rf fuzz-finds site .venv .bench-venv .integrations-venv .docs-venv .pytest_cache .mypy_cache .ruff_cache .hypothesis tclose-demo
