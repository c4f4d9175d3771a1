# `make demo` and `make test` set up everything they need in .venv and run on a fresh machine
# with Python 3.11 or later, make and, for the tests, a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs bench soak clean

demo: $(VENV)/.demo
	$(BIN)/pincite demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.dev
	$(BIN)/python -m pytest tests/docs

clean:
	rm -rf $(VENV) build src/*.egg-info src/pincite/_native*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml setup.py native/*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
