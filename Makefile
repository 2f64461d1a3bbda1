# Everything a fresh machine with python3 and make needs is set up by the targets themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2

.PHONY: help demo test check proof format bench clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.installed  ## Audit a sample table, design and release, audit again, ask five questions
	@$(BIN)/python examples/demo.py out

test: $(VENV)/.developing check  ## Run the checks and all tests
	@tools/need-java
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

check: $(VENV)/.developing  ## Lint, check the formatting and the types
	$(BIN)/ruff check .
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
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.developing: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Hartley and what its tests need"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed

clean:  ## Remove everything that was made here
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
