# Every command that a developer or CI needs is a target of this file; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CODE := groundwire retrieval_server generation_worker client deploy benchmarks proto tests examples

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: setup
setup: $(INSTALLED) ## make .venv and install everything in it (compiles llama.cpp the first time: minutes)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "groundwire needs Python 3.11 or newer: make setup PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# The stamp is written last, so a set-up that was interrupted is taken up again by the next one.
$(INSTALLED): requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/python deploy/install_locked.py requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

.PHONY: lock
lock: setup ## pin all dependencies anew, with hashes, in requirements.lock
	$(BIN)/pip-compile -q --all-extras --generate-hashes --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links --allow-unsafe --strip-extras -o requirements.lock pyproject.toml

.PHONY: models
models: setup ## get the encoder and the generator into the user's model cache
	$(BIN)/python -m groundwire.models

.PHONY: gen
gen: setup ## generate groundwire/v1 and groundwire/internal/v1 from proto/
	$(BIN)/python proto/generate.py

.PHONY: lint
lint: setup ## ruff, buf and the import arrows
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/buf lint proto
	$(BIN)/buf format --diff --exit-code proto
	$(BIN)/lint-imports --no-cache

.PHONY: type
type: setup ## mypy, strict
	$(BIN)/mypy

.PHONY: test
test: lint type models ## everything a change must pass, set-up included
	$(BIN)/python -m pytest

.PHONY: quality
quality: models ## recall on the public question sets; fails below the bounds
	$(BIN)/python -m pytest -m quality -s tests/quality

.PHONY: quality-answers
quality-answers: models ## answer the public questions and some that must be refused; fails below the bounds; INDEX_DIR=… keeps the index
	$(if $(INDEX_DIR),GROUNDWIRE_QUALITY_DATA_DIR="$(INDEX_DIR)" )$(BIN)/python -m pytest -m answers -s tests/quality/test_answers.py

.PHONY: chaos
chaos: models ## kill real workers and Valkey in mid-answer
	$(BIN)/python -m pytest -m chaos tests/chaos --ignore tests/chaos/queue

.PHONY: chaos-corpus
chaos-corpus: models ## change a corpus at random while its server is killed, read it while it is written, swap replicas
	$(BIN)/python -m pytest -m chaos -s tests/chaos/corpus

.PHONY: chaos-queue
chaos-queue: models ## hundreds of jobs while workers and Valkey are killed, stopped, drained and flushed
	$(BIN)/python -m pytest -m chaos -s tests/chaos/queue

.PHONY: bench
bench: models ## measure every figure that the project promises: one table, one JSON
	$(BIN)/python -m benchmarks

.PHONY: bench-scale
bench-scale: models ## what a collection costs at 10,000, 100,000 and 1,000,000 chunks (a quarter of an hour, 8 GB of disk)
	$(BIN)/python -m benchmarks.scale

.PHONY: ablation
ablation: models ## what each part of ranking is worth: recall and nDCG with one off at a time; INDEX_DIR=… keeps the indexes
	$(BIN)/python -m benchmarks.ablation $(if $(INDEX_DIR),--data-dir "$(INDEX_DIR)")

.PHONY: up
up: models ## run Valkey, server and worker on this machine until Ctrl-C
	@exec $(BIN)/python -m deploy.one_machine

.PHONY: demo
demo: models ## index this project, search, answer with sources, stop
	@exec $(BIN)/python -m deploy.demo

.PHONY: clean
clean: ## remove .venv, caches and build output (never data/ or the model cache)
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis benchmarks/results
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
