# Everything a fresh machine with python3 and make needs is set up by the targets themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2

.PHONY: help demo test check format bench clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.installed  ## Audit the sample table and write a report
	@mkdir -p out
	@$(BIN)/hartley sample out/people.parquet --text
	@$(BIN)/hartley audit out/people.parquet --secret diagnosis --released age,sex,region \
		--bins age=5 --sweep age=1:50 --html out/audit.html --text
	@echo "Open out/audit.html in a browser to see the report."

test: $(VENV)/.developing check  ## Run the checks and all tests
	@tools/need-java
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

check: $(VENV)/.developing  ## Lint, check the formatting and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

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
