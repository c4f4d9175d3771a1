# `make demo` and `make test` set up everything they need in .venv and run on a fresh machine
# with Python 3.11 or later, make and, for the tests, a C++ compiler.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STORE_TESTS := tests/contract/test_cases.py tests/contract/test_chroma.py \
	tests/contract/test_milvus.py tests/contract/test_qdrant.py tests/unit/stores/chroma \
	tests/unit/stores/milvus tests/unit/stores/qdrant tests/unit/stores/points \
	tests/unit/stores/test_named.py tests/unit/stores/test_transfer.py tests/integrations

BENCH := $(BIN)/python benchmarks
RESULTS := benchmarks/results

.PHONY: demo test test-stores asan lint docs bench bench-keyword bench-dense soak clean

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

bench: $(VENV)/.bench
	$(BENCH)/startup.py --json $(RESULTS)/startup.json
	$(BENCH)/filters.py --json $(RESULTS)/filters.json
	$(BENCH)/store.py --json $(RESULTS)/store.json
	$(if $(DATASETS),$(BENCH)/quality.py --data $(DATASETS) --json $(RESULTS)/quality-keyword.json)
	$(if $(DATASETS),$(BENCH)/quality_hybrid.py --data $(DATASETS) --json $(RESULTS)/quality-hybrid.json \
		--model local--static --model local--wordllama)
	$(if $(DOCUMENTS),$(BENCH)/facts.py --data $(DOCUMENTS) --json $(RESULTS)/facts.json)
	$(if $(CORPUS),$(MAKE) bench-keyword bench-dense)

bench-keyword: $(VENV)/.bench
	$(BENCH)/bm25.py --data $(CORPUS) --json $(RESULTS)/bm25-1m.json
	$(BENCH)/bm25_build.py --data $(CORPUS) --json $(RESULTS)/bm25-build.json
	$(BENCH)/bm25_updates.py --data $(CORPUS) --json $(RESULTS)/bm25-updates.json

bench-dense: $(VENV)/.bench
	$(call dense,prepare race changes memory reopen,,synthetic-384-100k)
	$(call dense,prepare race memory,--dimension 256,synthetic-256-100k)
	$(call dense,prepare race memory reopen,--kind static --dimension 256,static-256-100k)
	$(call dense,prepare race memory group reopen,--rows 1000000 $(LARGE),synthetic-384-1m)
	$(call dense,prepare race memory group,--rows 1000000 --kind static --dimension 256 $(LARGE),static-256-1m)
	$(call hybrid,10000,10k)
	$(call hybrid,100000,100k)
	$(call hybrid,1000000,1m)
	$(BENCH)/end_to_end.py --data $(CORPUS) --json $(RESULTS)/end-to-end.json
	$(BENCH)/embedding.py --data $(CORPUS) --json $(RESULTS)/embedding.json

LARGE := --queries 100 --peers pincite,numpy,flat,ivf
dense = $(foreach part,$(1),$(BENCH)/dense.py --data $(CORPUS) --part $(part) $(2) \
	--json $(RESULTS)/dense-$(3).json &&) true
hybrid = $(foreach part,prepare race,$(BENCH)/hybrid.py --data $(CORPUS) --part $(part) \
	--rows $(1) --json $(RESULTS)/hybrid-$(2).json &&) true

clean:
	rm -rf $(VENV) build src/*.egg-info src/pincite/_native*.so

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml setup.py
	@echo "Installing Pincite into $(VENV); compiling it takes a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check .
	touch $@

# The package is there: pip adds what these extras need and builds nothing again.
$(VENV)/.stores: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		"pincite[chroma,milvus,qdrant-edge,parquet,suites]"
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pincite[bench]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml setup.py native/*
	@echo "Installing Pincite and its tools into $(VENV); compiling takes a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
