# Everything a fresh machine with python3 and make needs is set up by the targets themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2
# Where Python may not keep compiled files, every process of the tests compiles all of them again:
# 13 seconds of the 18 that collecting the unit tests takes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-fast test-long check proof format bench clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.installed  ## Audit a sample table, design and release, audit again, ask five questions
	@$(BIN)/python examples/demo.py out

test: $(VENV)/.developing check  ## Run the checks and all tests
	@tools/need-java
	@tools/need-chromium
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-fast: $(VENV)/.developing  ## Run the unit tests and the tests of the house, in under three minutes
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests/unit tests/house -m "not (long or slow or postgres or spark)"

test-long: $(VENV)/.developing proof  ## Run what takes long: large enumerations, hundreds of kills, slow figures
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests -m long

check: $(VENV)/.developing  ## Lint, check the formatting and the types
	$(BIN)/ruff check --no-cache .  # a cache does not see that a module elsewhere took the same name
	$(BIN)/ruff format --check .
	$(BIN)/mypy

proof:  ## Check the machine-checked proofs of the accountant
	@tools/need-coq
	@proofs/check

format: $(VENV)/.developing  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed  ## Run all benchmarks, each peer in its own environment
	$(BIN)/python benchmarks/run.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Hartley needs Python 3.11 or newer; hint: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "The module venv is missing; hint: on Debian, apt-get install python3-venv"; exit 1; }

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Hartley"
	@$(PIP) install --constraint constraints.txt --editable '.[service]'
	@touch $@

$(VENV)/.developing: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Hartley and what its tests need"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:  ## Remove everything that was made here
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
