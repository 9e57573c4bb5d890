# Every target sets up what it needs first; a second run finds it in place. `make` alone lists the targets.
PYTHON ?= python3.11
PORT_UI ?= 3000
PORT_DASHBOARD ?= 8501
BIN = .venv/bin
SETUP = @command -v $(PYTHON) >/dev/null 2>&1 || { echo "make: $(PYTHON) is not on the path; install Python 3.11, or name one: make PYTHON=/path/to/python3.11 $@" >&2; exit 3; }; $(PYTHON) -m clawgym_dag.setup

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all check ui dashboard bench conformance soak clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | column -t -s "$$(printf '\t')" 2>/dev/null || grep -E '^[a-z-]+:.*##' Makefile
setup: ## .venv, OpenClaw, bubblewrap
	$(SETUP) rollouts
demo: setup ## the whole loop on this machine: no key, no GPU
	@$(BIN)/clawgym demo
test: ## all tests but the long ones
	$(SETUP) test
	@$(BIN)/python -m pytest -m "not long"
test-all: ## make check, then every test
	$(SETUP) test
	@$(MAKE) --no-print-directory check
	@$(BIN)/python -m pytest
check: ## ruff, format, types, layers, generated docs
	$(SETUP) python
	@$(BIN)/python -m clawgym_dag.setup.check
ui: ## Dagster's UI on http://127.0.0.1:3000 (PORT_UI=…)
	$(SETUP) rollouts
	@$(BIN)/python -m clawgym_dag.serve --port $(PORT_UI)
dashboard: ## the dashboard on http://127.0.0.1:8501 (PORT_DASHBOARD=…)
	$(SETUP) python
	@$(BIN)/python -m dashboards --port $(PORT_DASHBOARD)
bench: setup ## our figures beside peers and plain loops: benchmarks/results/latest.json
	@$(BIN)/python -m benchmarks
conformance: ## the published failures, ours and the peers': docs/conformance.md
	$(SETUP) python
	@$(BIN)/python -m benchmarks.conformance
soak: ## a hundred random kills of several writers: benchmarks/results/soak.json
	$(SETUP) test
	@$(BIN)/python -m benchmarks.soak
clean: ## remove caches; .venv, .openclaw and the lake in data/ stay
	@rm -rf .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis *.egg-info
	@find . -name __pycache__ -type d -not -path './.venv/*' -not -path './.openclaw/*' -prune -exec rm -rf {} +
