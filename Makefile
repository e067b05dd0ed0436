# The targets of everyday work. `make check test` before a change is sent; `.ci/run` is what decides.
.DEFAULT_GOAL := help
.PHONY: help install format check test coverage docs pins build ci bench clean

help:  ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-10s %s\n", $$1, $$2}'

install:  ## Make the environment
	uv --version >/dev/null 2>&1 || pip install uv
	uv sync

format:  ## Format the code and fix what can be fixed
	uv run ruff format .
	uv run ruff check --fix .

check:  ## Format, lint, types, import contracts and generated documents
	uv run ruff format --check .
	uv run ruff check .
	uv run python scripts/typecheck.py
	uv run lint-imports
	uv run python scripts/draw_tables.py --check

test:  ## Run all tests of all packages
	uv run pytest

coverage:  ## Run all tests with branch coverage
	uv run pytest --cov --cov-branch --cov-report=term --cov-report=html

docs:  ## Draw the generated documents again
	uv run python scripts/draw_tables.py

pins:  ## Pin what the ranges resolve to; UPGRADE=1 moves everything to its newest version
	uv run python scripts/pin.py $(if $(UPGRADE),--upgrade,)

build:  ## Build every wheel into dist/ and try them outside the workspace
	rm -rf dist
	uv build --all-packages --wheel --out-dir dist
	uv run python scripts/smoke_wheels.py dist

ci:  ## Run everything that decides on a change
	CI=true .ci/run </dev/null

bench:  ## Run the benchmarks
	@set -e; for file in benchmarks/bench_*.py; do echo "== $$file"; uv run python "$$file"; done

clean:  ## Remove what the tools leave behind
	rm -rf dist htmlcov site .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
