# `make tour` and `make test` start from nothing but Python >= 3.11, make and git.

PYTHON ?= python3
BIN := .venv/bin
EXAMPLES ?= 200
LIBRARY ?= all
PACKAGE ?= sklearn
PACKAGES ?=
JOBS ?= 2
BASE ?= HEAD
CHROMIUM ?= /usr/bin/chromium
VERSION ?= dev
ALIAS ?=
# The tests start hundreds of processes that import xpand. Without bytecode, each would compile it again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help tour test test-deep checked lint types unit unit-deep quick test-mutations references docs docs-check docs-deploy bench conformance dropin clients test-bank test-gpu test-oldest test-torch-versions sizes format clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 14

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("xpand needs Python 3.11 or newer, got " + sys.version if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/tour.stamp: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[all,tour]'
	@touch $@

.venv/test.stamp: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --no-compile -e '.[test,docs]'
	@$(BIN)/python -m compileall -qq -x '/tests?/' --workers $(JOBS) .venv/lib src extensions || true # pip compiles 14,000 modules one by one
	@touch $@ .venv/tour.stamp

tour: .venv/tour.stamp ## run one source file on every installed library, over real data
	$(BIN)/xpand tour

test: checked unit ## run everything that continuous integration runs

test-deep: checked unit-deep ## run all tests, the slow ones included

checked: .venv/test.stamp # each of the three takes one processor; the longest comes first
	$(MAKE) --jobs 2 types lint docs

lint: .venv/test.stamp ## check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

types: .venv/test.stamp ## check types, strictly
	$(BIN)/mypy

unit: .venv/test.stamp ## run the tests, the docs' code blocks and the examples; of the slow tests one in ten
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q --tier ci $(ARGS)

unit-deep: .venv/test.stamp ## run all tests; ARGS=--junitxml=results.xml writes what `python -m tests.tiers` reads
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q --references check $(ARGS)

quick: .venv/test.stamp ## run the tests of what has changed, in about two minutes: make quick BASE=main
	$(BIN)/python tools/quick.py --base $(BASE) --jobs $(JOBS)

test-mutations: .venv/test.stamp ## break rules, kernels and checks one at a time: some test must notice each
	$(BIN)/python tools/mutations.py --jobs $(JOBS) $(ARGS)

references: .venv/test.stamp ## compute the reference values of tests by JAX again, and store them
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -q --references write \
	  $$(grep -lE "tests\.(traced|operations) import" tests/test_*.py)

docs: .venv/test.stamp ## build the site into site/, warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-deploy: .venv/test.stamp ## add this version of the site to the branch gh-pages: make docs-deploy VERSION=0.1 ALIAS=latest
	NO_MKDOCS_2_WARNING=1 $(BIN)/mike deploy --update-aliases $(ARGS) $(VERSION) $(ALIAS)
	$(if $(ALIAS),$(BIN)/mike set-default $(ARGS) $(ALIAS))

docs-check: docs ## check the site's links, and its accessibility in Chromium; needs Node.js: make docs-check CHROMIUM=path
	npm ci --silent --no-audit --no-fund --prefix tools/site
	CHROMIUM="$(CHROMIUM)" node tools/site/check.mjs site

.venv/bench.stamp: .venv/test.stamp
	$(PIP) -e '.[bench]'
	@touch $@

bench: .venv/bench.stamp ## measure, and print ratios beside their budgets
	$(BIN)/python -m benchmarks $(ARGS)

conformance: .venv/test.stamp ## run the official test suite: make conformance SUITE=path LIBRARY=torch EXAMPLES=200
	$(BIN)/python array-api-tests/run.py --suite "$(SUITE)" --library "$(LIBRARY)" --examples $(EXAMPLES) --jobs $(JOBS) $(ARGS)

dropin: .venv/test.stamp ## run a package's array API tests on xpand in place of array-api-compat: make dropin PACKAGE=scipy
	$(BIN)/python tests/dropin_swap.py $(PACKAGE) --jobs $(JOBS) $(ARGS)

.venv/clients.stamp: .venv/test.stamp
	$(PIP) -e '.[clients]'
	@touch $@

clients: .venv/clients.stamp ## check what the docs say of packages that are transformed unchanged; ARGS=--write writes it
	$(BIN)/python -m tests.clients $(ARGS)
	$(BIN)/python -m tests.clients.autograd_suite $(if $(SUITE),--source "$(SUITE)") $(ARGS)

test-bank: .venv/test.stamp ## solve the whole bank of linear systems: make test-bank LIBRARY=jax ARGS="--methods cg gmres"
	$(BIN)/python -m tests.whole_bank --library "$(LIBRARY)" $(ARGS)

test-gpu: ## with PYTHON's own packages, on a GPU: the tests, the official suite (SUITE=path), the benchmarks
	PYTHONPATH="src:extensions:.:$(PACKAGES)" $(PYTHON) -m tests.gpu --suite "$(SUITE)" --examples $(EXAMPLES) --jobs $(JOBS) $(ARGS)

test-torch-versions: .venv/test.stamp ## run the PyTorch tests on its oldest and newest release: VERSIONS="2.11.0 2.13.0"
	$(BIN)/python tools/torch_versions.py $(VERSIONS) $(ARGS)

test-oldest: ## run the tests of NumPy with each dependency at its lower bound, in an environment of its own
	$(PYTHON) tools/oldest.py --jobs $(JOBS) $(ARGS)

sizes: ## print the lines of the package: in total, per part, and of the largest modules
	$(PYTHON) tools/sizes.py

format: .venv/test.stamp ## format, and fix what can be fixed automatically
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and everything built
	rm -rf .venv site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
