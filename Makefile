# Set-up, program and checks. Paths are relative throughout: the folder's own name may hold spaces.

.DEFAULT_GOAL := help
.PHONY: help setup setup-test setup-deep setup-bundle run check test test-long test-all test-deep lint format translations hooks attack bench bench-learners bench-clicks docs bundle bundle-check sbom lock audit screenshot clean

# A Python 3.11 to 3.13 to build .venv with; found by itself when empty.
PYTHON ?=
# Test processes at a time.
WORKERS ?= 2
# Added to the command: make run ARGS="--library demo.semblance", make test ARGS="-k bdm".
ARGS ?=

export PYTHON
# Without compiled files every process that a test starts would compile the program again.
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

##@ Use

help: ## list these commands
	@awk '/^##@/ { print (groups++ ? "\n" : "") substr($$0, 5) } \
	     /^[a-z-]+:.* ## / { name = $$0; sub(/:.*/, "", name); sub(/^.* ## /, ""); printf "  make %-15s %s\n", name, $$0 }' Makefile

run: setup ## set up if needed, then show the demo (without a display: write its report and an image)
	$(BIN)/semblance demo $(ARGS)

setup: ## set up .venv with the pinned versions, and the system libraries where allowed
	@sh packaging/setup.sh run

##@ Develop

check: lint ## run style, types, import contracts and the quick tests; list the tests that take over a second
	$(PYTEST) -m "not (slow or window or process or server or pacs or deep or long)" --durations=0 --durations-min=1 $(ARGS)

test: lint ## run every check that protects a change: style, types, import contracts, all but the long tests
	$(PYTEST) -m "not long" $(ARGS)

test-long: setup-test ## run what `make test` leaves out: the tutorial, long use, random walks, fuzzing, kills
	$(PYTEST) --long -m long $(ARGS)

test-all: test test-long ## run every test

test-deep: setup-deep ## run the tests of the extra `deep` (torch), in an environment of their own
	.venv-deep/bin/python -m pytest tests/deep $(ARGS)

lint: setup-test ## run the checks without the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup-test ## format the sources and sort their imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

translations: setup-test ## find new and changed texts, update resources/translations, list what is to be translated
	$(BIN)/python -m tests.translations

docs: setup-test ## build the documentation site in English and German: build/docs/index.html. ARGS="--notebooks --strict": run the notebooks too; a warning is an error
	$(BIN)/python packaging/docs/build.py $(ARGS)

hooks: setup-test ## run the checks before every commit (.pre-commit-config.yaml; needs pre-commit)
	pre-commit install

clean: ## remove every .venv and everything that was built
	rm -rf .venv .venv-deep .venv-peers .venv-bundle .venv-audit build dist semblance.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find app core resources tests packaging -name __pycache__ -type d -prune -exec rm -rf {} +
	find resources/translations -name "*.mo" -delete
	rm -f resources/CHANGELOG.md

##@ Measure

bench: setup-test ## measure speed and memory against the targets (SEMBLANCE_DATA: folder of the real data)
	$(BIN)/python -m tests.benchmarks $(ARGS)

attack: setup-test ## damaged and hostile files and PACS answers, kills, full disks, with a table of results. ARGS="--mutants 300 --kills 20"
	$(BIN)/python -m tests.attack $(ARGS)

bench-learners: setup-test ## compare the learners with their peers (in .venv-peers); writes the tables of the help page Benchmarks
	$(BIN)/python -m tests.benchmarks.learners $(ARGS)

bench-clicks: setup-test ## measure how much a metric learns from simulated clicks; writes the tables of the help page Benchmarks
	$(BIN)/python -m tests.benchmarks.clicks $(ARGS)

##@ Release

bundle: setup-bundle ## build the program in one folder that needs no Python, with bill of materials and checksums (dist/)
	.venv-bundle/bin/python packaging/bundle/build.py $(ARGS)

bundle-check: bundle setup-test ## build again elsewhere and compare; install, start, upgrade, remove and purge in new roots of Debian
	SEMBLANCE_DIST=dist $(BIN)/python -m pytest --long -m long -o faulthandler_timeout=0 tests/e2e/test_installers.py $(ARGS)

sbom: setup-bundle ## build the wheel and its bills of materials, CycloneDX and SPDX (dist/)
	.venv-bundle/bin/python packaging/sbom.py

lock: setup-bundle ## pin every package with its hashes: packaging/requirements.lock and requirements-dev.lock
	sh packaging/lock.sh .venv-bundle/bin/uv

audit: setup ## check the pinned dependencies for known vulnerabilities; needs a network
	$(BIN)/python packaging/audit.py

screenshot: setup ## renew the images of the README and of the help
	rm -rf build/demo.semblance
	SEMBLANCE_LANGUAGE=en $(BIN)/semblance demo --headless --library build/demo.semblance
	SEMBLANCE_LANGUAGE=en QT_QPA_PLATFORM=offscreen $(BIN)/python packaging/help_images.py build/demo.semblance .


# What the others need first.

setup-test:
	@sh packaging/setup.sh test

setup-deep:
	@sh packaging/setup.sh deep

setup-bundle:
	@sh packaging/setup.sh bundle
