# You need Python 3.11 or newer and make; everything else is installed into .venv from uv.lock.
# The system's Python comes first: it is built with optimisation, which pyenv leaves out, and saves a third of the time.
usable = import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell /usr/bin/python3 -c '$(usable)' 2>/dev/null && echo /usr/bin/python3 && exit; \
	for p in python3 python3.14 python3.13 python3.12 python3.11 python; do command -v $$p && break; done)
PORT ?= 8000
ARGS ?=

.PHONY: help demo demo-reset test check fmt translations licences sbom audit loaders clients bench bench-full screenshots
.DEFAULT_GOAL := help

start = @test -n "$(PYTHON)" || { echo "Assay needs Python 3.11 or newer, but no Python was found on the PATH." >&2; exit 1; }; \
	exec "$(PYTHON)" scripts/start.py

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo:  ## run Assay with demo projects on http://127.0.0.1:8000 (another port: make demo PORT=8001)
	$(start) demo --port "$(PORT)" $(ARGS)

demo-reset:  ## delete the demo's data
	rm -rf var/demo

test:  ## run all tests, on SQLite and PostgreSQL, with Redis and browsers if they are installed
	$(start) run_tests $(ARGS)

check:  ## run linters, type checks and other static checks
	$(start) check $(ARGS)

fmt:  ## format the code and apply ruff's fixes
	@"$(PYTHON)" scripts/start.py run ruff check --fix --quiet . || true
	$(start) run ruff format .

translations:  ## collect the texts for translation in locale/, compile them and list what is missing
	$(start) run python -m scripts.translations $(ARGS)

licences:  ## list the licences of what is shipped in docs/licences.md
	$(start) run python -m scripts.licences $(ARGS)

sbom:  ## write the software bill of materials (CycloneDX) of this version
	$(start) run python -m scripts.sbom $(ARGS)

audit:  ## ask an advisory service about known vulnerabilities; fails, as NOT AUDITED, if it does not answer
	$(start) run python -m scripts.audit $(ARGS)

loaders:  ## load releases with the usual libraries, each in an environment of its own
	$(start) run python scripts/check_loaders.py $(ARGS)

clients:  ## generate a client from the schema of the API, and use it on a server
	$(start) run python -m scripts.check_clients $(ARGS)

bench:  ## measure speed with 1,000 and 20,000 dialogues
	$(start) run python scripts/bench.py $(ARGS)

bench-full:  ## the same with 100,000 dialogues
	$(start) run python scripts/bench.py --full $(ARGS)

screenshots:  ## take the pictures of the docs again, from demos of their own
	$(start) run python -m scripts.screenshots $(ARGS)
