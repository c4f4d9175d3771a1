# `make demo` and `make test` set up everything they need in .venv and run on a fresh machine
# with Python 3.11 or later, make and, for the tests, a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STORE_TESTS := tests/contract/test_cases.py tests/contract/test_chroma.py \
	tests/contract/test_milvus.py tests/contract/test_qdrant.py tests/unit/stores/chroma \
	tests/unit/stores/milvus tests/unit/stores/qdrant tests/unit/stores/points \
	tests/unit/stores/test_named.py tests/unit/stores/test_transfer.py tests/integrations

.PHONY: demo test test-stores asan lint docs bench soak clean

demo: $(VENV)/.demo
	$(BIN)/pincite demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# What needs the clients of other stores and other frameworks, 1.5 GB that `make test` does without.
# Nothing may be skipped here.
test-stores: $(VENV)/.stores
	HAYSTACK_TELEMETRY_ENABLED=False PINCITE_REQUIRE_STORES=1 \
		$(BIN)/python -m pytest --numprocesses auto --dist loadscope \
		$(STORE_TESTS)

# The native code's tests under AddressSanitizer, in a build of their own.
asan: $(VENV)/.dev
	PYTHON=$(BIN)/python tools/asan.sh

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.dev
	$(BIN)/python -m pytest tests/docs

# The long forms. Folders of data are named by the caller: DATASETS holds judged collections,
# DOCUMENTS a manifest.tsv with its files, CORPUS what benchmarks/corpus.py harvests.
soak: $(VENV)/.stores asan
	HYPOTHESIS_PROFILE=soak PINCITE_CRASH_KILLS=200 PINCITE_SOAK_SECONDS=60 PINCITE_SOAK_READERS=8 \
		PINCITE_SOAK_JSON=benchmarks/results/soak.json \
		$(BIN)/python -m pytest tests/crash tests/property tests/contract tests/unit/stores \
		tests/integrations
	PINCITE_HASH_SEEDS=100 $(BIN)/python -m pytest tests/unit/bm25/test_index.py -k hash_seed

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py --json benchmarks/results/startup.json
	$(BIN)/python benchmarks/filters.py --json benchmarks/results/filters.json
	$(if $(DATASETS),$(BIN)/python benchmarks/quality.py --data $(DATASETS) --json benchmarks/results/quality-keyword.json)
	$(if $(DOCUMENTS),$(BIN)/python benchmarks/facts.py --data $(DOCUMENTS) --json benchmarks/results/facts.json)
	$(BIN)/python benchmarks/store.py --json benchmarks/results/store.json
	$(if $(CORPUS),$(BIN)/python benchmarks/bm25.py --data $(CORPUS) --json benchmarks/results/bm25.json)
	$(if $(CORPUS),$(BIN)/python benchmarks/end_to_end.py --data $(CORPUS) --json benchmarks/results/end-to-end.json)

clean:
	rm -rf $(VENV) build src/*.egg-info src/pincite/_native*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml setup.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check .
	touch $@

# The package is there: pip adds what these extras need and builds nothing again.
$(VENV)/.stores: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		"pincite[chroma,milvus,qdrant-edge,parquet,suites]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml setup.py native/*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
