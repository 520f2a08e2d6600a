# Each target makes .venv by itself and installs what it needs, once; `make` alone lists the targets.
PYTHON ?= python3
BIN := .venv/bin
PYTEST_ARGS ?=
WORKERS ?= 2
export GOMP_SPINCOUNT ?= 3000

# What each target installs: extras of pyproject.toml.
EXTRAS_demo := plot
EXTRAS_test := all,lab,test
EXTRAS_lint := all,lab,lint
EXTRAS_bench := all,lab
EXTRAS_reproduce := all,lab
EXTRAS_docs := docs,data,tables
EXTRAS_coverage := all,lab,test,coverage

# A data folder next to the project is found without being named.
ifndef SE_GNN_DATA
ifneq ($(wildcard ../shared/data/.),)
export SE_GNN_DATA := $(abspath ../shared/data)
endif
endif

# The paper's tables and figures: make reproduce-table-2 SEEDS=5, or QUICK=1 for one seed.
REPRODUCE := default rivals table-1 table-2 more-seeds authors-settings figure-3 table-4 table-5 figure-4 figure-5 figure-6 figure-7 recipes truth agreement faithfulness graphxai labels audit honesty coverage left-out suggest edge-signal bitcoin-otc amazon-fraud kinds foreign-cases links counties
SEEDS ?= $(if $(QUICK),1,5)
REPRODUCE_ARGS ?=

.PHONY: help demo test test-slow test-gpu coverage fuzz lint bench package docs clean reproduce-all $(REPRODUCE:%=reproduce-%)
.NOTPARALLEL: # two installations into one .venv would get in each other's way

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: .venv/.demo-stamp ## classify handwritten digits and show why; writes to demo/
	$(BIN)/python examples/demo_digits.py

test: .venv/.test-stamp ## run the tests, without the slow ones; PYTEST_ARGS="-k name" picks some
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --timeout 600 -m "not slow and not gpu" $(PYTEST_ARGS)

test-slow: .venv/.test-stamp ## run the tests that take minutes
	$(BIN)/python -m pytest -m "slow and not gpu" $(PYTEST_ARGS)

test-gpu: .venv/.test-stamp ## run the tests that need CUDA; without a device they fail
	$(BIN)/python -m pytest -m gpu $(PYTEST_ARGS)

coverage: .venv/.coverage-stamp ## run the tests and measure which lines they reach; the table is in coverage.txt
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow and not gpu" --cov --cov-report= $(PYTEST_ARGS)
	$(BIN)/python -m coverage report --skip-covered > coverage.txt
	@tail -1 coverage.txt

fuzz: .venv/.test-stamp ## read 100,000 spoiled files; FUZZ_ARGS="--only 4711" runs one case
	PYTHONPATH=tests $(BIN)/python -m fuzz $(FUZZ_ARGS)

lint: .venv/.lint-stamp ## check style, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src lab tests docs examples benchmarks reproduce packaging *.md

bench: .venv/.bench-stamp ## measure speed and memory; BENCH_ARGS="cora-score" picks some
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

reproduce-all $(REPRODUCE:%=reproduce-%): reproduce-%: .venv/.reproduce-stamp
	$(BIN)/python -m reproduce run $* --seeds $(SEEDS) $(REPRODUCE_ARGS)
	$(BIN)/python -m reproduce render

reproduce-all: ## run what is missing of the paper's tables and figures; reproduce-table-2 runs one; QUICK=1: one seed

package: ## build the sdist and the wheel, and use both in empty environments
	PYTHON=$(PYTHON) packaging/check $(PACKAGE_ARGS)

docs: .venv/.docs-stamp ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean: ## remove .venv, caches and what demo and docs wrote
	rm -rf .venv build dist demo .coverage .coverage.* coverage.txt docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src lab tests examples benchmarks reproduce docs -type d -name __pycache__ -prune -exec rm -rf {} +

.venv/.%-stamp: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing se-gnn[$(EXTRAS_$*)] into .venv; the first time takes a few minutes"
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[$(EXTRAS_$*)]'
	@touch $@

# pip is the last thing that `venv` makes: where it is missing, the environment is not complete.
$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "$(PYTHON) was not found: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "se-gnn needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { \
	  echo "$(PYTHON) could not make the virtual environment .venv (see above)." >&2; \
	  echo "On Debian and Ubuntu the package python3-venv brings what is missing." >&2; exit 1; }
