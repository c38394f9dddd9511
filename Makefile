# Everything runs in a virtual environment; `make demo` and `make test` create it.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

N       ?=
SECONDS ?= 600
DAY     ?= $(shell date +%j)
CODE    := compliance logging_spec rules reference_runs

.PHONY: help setup demo test test-long kills hostile fuzz lint audit bench docs pictures site release rates schema clean lock lowest

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## create the virtual environment

LOCKED ?=
LOCK   := requirements-dev.lock
# The build tools are locked, too: with isolation pip would download them again, in any version
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(if $(LOCKED),--no-build-isolation)
COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command 'make lock'

lock:  ## resolve which versions LOCKED=1, the action and the container install (needs uv)
	echo "torch ; sys_platform == 'none'" | $(COMPILE) pyproject.toml --extra dev --extra release --override - --no-emit-package torch -o $(LOCK)
	$(COMPILE) pyproject.toml --constraint $(LOCK) -o requirements.lock
	printf 'hatchling>=1.25\neditables>=0.3' | $(COMPILE) - --constraint $(LOCK) -o requirements-build.lock

OLD       := build/lowest
OLD_TESTS := report scoring bundling service systems store live
OLD_NEEDS := '.[bundle,dask,mcp,metrics,plots,probe,remote,results,review,tables]' 'hatchling>=1.25' \
	'hypothesis>=6.115' 'markdown-it-py>=3' 'mlperf-logging>=4.1.68' 'orjson>=3.10' 'packaging>=24' 'pytest>=8.3' \
	'pyyaml>=6.0.1' 'rules>=3.5' 'scipy>=1.11'

lowest:  ## run some tests with the oldest libraries that pyproject.toml allows, except torch (needs uv)
	uv venv --quiet --clear --python $(PYTHON) $(OLD)
	uv pip install --quiet --python $(OLD)/bin/python --resolution lowest-direct $(OLD_NEEDS)
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)" PATH="$(CURDIR)/$(OLD)/bin:$$PATH" $(OLD)/bin/python -m pytest \
		-p no:cacheprovider -W ignore -m 'not long' tests/logging_spec $(OLD_TESTS:%=tests/compliance/%)

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing podium with every extra (PyTorch, matplotlib, test tools) into $(VENV)/: about"
	@echo "1.7 GB on disk, several minutes; nothing outside of this folder. make clean removes it."
	$(PYTHON) -m venv $(VENV)
	$(if $(LOCKED),$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(LOCK) -r requirements-build.lock)
	$(INSTALL) -e '.[dev]'
	$(BIN)/python -m compileall -q src
	@touch $@

demo: $(STAMP)  ## train, check, score, pack, commit, bundle, unpack, verify; left in demo/
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/examples/demo.py

test: $(STAMP)  ## the quick test suite
	$(BIN)/python -m pytest -m 'not long' -n 2 --dist worksteal

test-long: $(STAMP)  ## the slow tests: damaged logs, today's part of the trainers (DAY= runs all, PODIUM_THOROUGH=1 more seeds)
	PODIUM_DAY=$(DAY) $(BIN)/python -m pytest -m long -n 2 --dist worksteal --durations=25

kills: $(STAMP)  ## kill loggers and commands N times (2000) at random moments
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)" $(BIN)/python -m tests.kills.harness $(N)

hostile: $(STAMP)  ## run every command on N (100000) hostile inputs, by a seed
	$(BIN)/python benchmarks/hostile.py $(N)

fuzz: $(STAMP) .fuzz/atheris  ## fuzz the readers and writers for SECONDS (600), guided by coverage
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)" $(BIN)/python -m tests.fuzz --seconds $(SECONDS)

.fuzz/atheris:  # outside of the environment: it does not exist for every Python, and nothing else needs it
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target .fuzz 'atheris>=2.3'

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: $(STAMP)  ## suspicious code, licenses and known vulnerabilities of dependencies
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(CODE) .ci
	$(BIN)/python .ci/licences.py
	$(BIN)/python .ci/advisories.py

bench: $(STAMP)  ## speed against the official checker, a bare pass and cp, as ratios of one run
	$(BIN)/python benchmarks/check.py
	$(BIN)/python benchmarks/recall.py
	$(BIN)/python benchmarks/emitter.py
	$(BIN)/python benchmarks/trainers.py
	$(BIN)/python benchmarks/packing.py --gigabytes 1
	$(BIN)/python benchmarks/results.py --times 1

docs: $(STAMP)  ## regenerate the pages of rules, messages, trainers and sizes, the manual page and the schemas
	$(BIN)/podium rules pages --write
	$(BIN)/python docs/site/symptoms.py
	$(BIN)/python docs/site/trainers.py
	$(BIN)/python docs/site/sizes.py
	$(BIN)/podium man > docs/podium.1
	for name in config system waivers review objection report receipt record profile study kernels code read; do \
	    $(BIN)/podium schema $$name > docs/schemas/podium-$$name.json || exit 1; done
	$(BIN)/python -m podium.logging_spec.reader.record > logging_spec/reader/record.schema.json

pictures: $(STAMP)  ## regenerate the pictures of the documentation (needs chromium)
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)" $(BIN)/python docs/examples/pictures.py

site: $(STAMP)  ## build the documentation site in build/site, without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

release: $(STAMP)  ## build, check and test a release in dist/, from a tagged commit
	$(INSTALL) -e '.[release]'
	$(BIN)/python .ci/release.py

rates: $(STAMP)  ## how often each rule fires on the published submissions in CORPUS
	$(BIN)/python benchmarks/rates.py $(CORPUS)
	$(BIN)/podium rules pages --write

clean:  ## remove everything that make created, including demo/
	rm -rf $(VENV) .fuzz demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
