# Two commands do all set-up on a machine with python3, git and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: adapters demo test unit lint style types structure fuzz bench clean docs

demo: .venv/installed
	$(BIN)/assay index .
	$(BIN)/assay status || true
	$(BIN)/assay trust --show || true
	$(BIN)/assay symbols 'Resolver.*'
	$(BIN)/assay impact assay.config.roots.root_around
	$(BIN)/assay graph assay.config.roots.root_around --limit 6
	$(BIN)/assay owners src/assay/config/roots.py || true
	$(BIN)/assay enrich --list || true
	$(BIN)/assay publish .assay-published && $(BIN)/assay pull .assay-published; rm -rf .assay-published
	$(BIN)/assay context 'how does a review find files that usually change together' -k 5 --budget 800
	echo 'AssayError in src/assay/config/roots.py:171: not in the index' | $(BIN)/assay context - -k 3 --budget 400
	$(BIN)/assay why 'how does a review find files that usually change together' review.py::_missing_cochanges
	$(BIN)/assay context --files src/assay/config/roots.py --budget 500
	$(BIN)/assay context --pr HEAD~1 --budget 1500 || true
	$(BIN)/assay context --pr HEAD~1 --format comment --budget 1500 || true
	$(BIN)/assay context 'Reviews miss files that usually change together' --profile change -k 5 --budget 400
	$(BIN)/assay search 'what happens to runs when the machine loses power' -k 3
	$(BIN)/assay search '"token budget" path:src' -k 2
	$(BIN)/assay search 'where is the token budget spent' --kind code --by file -k 3 --explain
	$(BIN)/assay ask 'How do I add a language?' || true
	$(BIN)/assay ask 'How do I renew a passport?' || true
	$(BIN)/assay eval verify --golden eval/fixtures
	$(BIN)/assay eval run --golden eval/queries.yaml --system assay --matching strict | tail -40
	$(BIN)/assay eval run --golden eval/queries.yaml --system 'cmd:scripts/grep_words.sh {query} {k}' --matching file | tail -18
	$(BIN)/assay eval report
	$(BIN)/assay eval sweep --queries eval/questions.jsonl --chunk-sizes 512,2048 | head -20

# linters and tests at the same time: alone, the linters leave a core idle for most of a minute
test: .venv/dev
	@$(MAKE) --no-print-directory -j 3 style types unit

# one more than there are cores: tests also wait
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
unit: export PYTHONDONTWRITEBYTECODE =  # pytest keeps the tests as it compiled them
unit: .venv/dev
	$(BIN)/python -m compileall -q src tests -x fixtures
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cpu 10

lint: style types

style: .venv/dev
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/lint-imports

types: .venv/dev
	$(BIN)/mypy

# size, complexity, unused code and names of the source; `OLD=path/to/src make structure` compares two trees
structure: .venv/dev
	$(BIN)/python scripts/structure.py $(OLD) src

# random, and therefore no part of `make test`: SEED=N gives the same again, FUZZ_FILES=50000 ends after so many files
FUZZ_MINUTES ?= 30
FUZZ_FILES ?= 0
fuzz: .venv/dev
	$(BIN)/python -m compileall -q src
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(FUZZ_MINUTES) --files $(FUZZ_FILES) $(if $(SEED),--seed $(SEED)) $(FUZZ_OPTIONS)

bench: .venv/dev
	$(BIN)/python benchmarks/index.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/compare.py

# LangChain and LlamaIndex retrievers, pandas, polars and pyarrow: installed for this job only, from the network
adapters:
	scripts/check_adapters.sh

# the reference of the commands, and what the commands in README and guides print; PAGES=… only these
docs: .venv/dev
	$(BIN)/python scripts/cli_reference.py > docs/cli.md
	PYTHONPATH=src:tests $(BIN)/python -m support.transcripts $(PAGES)

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable . -c constraints.txt
	touch $@

.venv/dev: pyproject.toml constraints.txt .venv/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]' -c constraints.txt
	$(BIN)/python -m compileall -q src
	touch $@

clean:
	rm -rf .venv .assay
