# Each target sets up what it needs: a virtual environment in .venv with this package in it.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
READY := .venv/ready
# Many tests wait for crawls and servers: more of them at once than there are cores.
SIDE_BY_SIDE := -n $(shell expr 2 \* `nproc 2>/dev/null || echo 2`) --dist worksteal
EXTRAS := postgresql,mariadb,trafilatura,parquet,warc,zstd

# As pip does, also where a company's own certificate authority stands between.
export UV_SYSTEM_CERTS := 1

# Tests start many processes: without bytecode files each of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo check test test-all docs test-lowest test-databases torture fuzz figures clean

demo: $(READY)
	$(BIN)/python example_project/demo.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/pytest $(SIDE_BY_SIDE)

# The slow tests as well, and more examples of those that are drawn at random. MEASURED=--cov
# measures which lines and branches the tests reach.
test-all: check
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "" --hypothesis-profile=full $(MEASURED)

# The site of docs/, in docs/_build; whatever Sphinx warns of is an error.
docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going docs docs/_build
	@echo "docs/_build/index.html"

# The lowest versions that pyproject.toml allows, with the oldest Python.
test-lowest: $(READY)
	$(BIN)/nox -s lowest

# PostgreSQL, pgbouncer and MariaDB, from Debian's packages.
test-databases: $(READY)
	apt-get install --yes --no-install-recommends postgresql pgbouncer mariadb-server
	$(BIN)/pytest -m "" tests/db tests/index

# Crashes, signals, servers and clocks, at full length: most of an hour.
torture: $(READY)
	$(BIN)/pytest -m slow tests/torture --torture=long -s

# Whatever a stranger writes, drawn by chance for so many minutes a target. Atheris, which goes by
# the lines that are reached, has no wheels but for Linux on x86-64; hypothesis draws without it.
MINUTES := 10
TARGETS :=
fuzz: $(READY)
	-$(INSTALL) --only-binary=:all: atheris
	PYTHONPATH=tests $(BIN)/python -m fuzz.run --minutes $(MINUTES) $(TARGETS)

# All figures of the README and docs/, which quote these files: on an idle machine, in two hours. DATA
# has pages.tar.xz, pairs.jsonl.xz, and the folders of benchmarks/accuracy.py and published.py. Empty
# databases with the URLs POSTGRESQL_100000 and so on are filled as well. TEXT_DEDUP is an interpreter
# as in benchmarks/text_dedup.py.
DATA := data
POSTGRESQL :=
TEXT_DEDUP :=
PAGES := $(DATA)/pages.tar.xz
SETS := $(DATA)/near_duplicates
WITH_TEXT_DEDUP := $(addprefix --text-dedup ,$(TEXT_DEDUP))
figures: $(READY)
	$(INSTALL) --group benchmark
	echo "Measured on $$(date -u +%F) at commit $$(git rev-parse --short HEAD), on $$(nproc) cores ($$(uname -sm))." \
		> benchmarks/measured.md
	$(BIN)/python -m benchmarks.accuracy --pages $(PAGES) --pairs $(DATA)/pairs.jsonl.xz --sites $(DATA)/sites \
		--out benchmarks/accuracy_parts/results.md
	$(BIN)/python -m benchmarks.accuracy_parts.figure docs/accuracy.svg
	for set in syndicated versions; do \
		$(BIN)/python -m benchmarks.near_duplicates.build $$set $(SETS)/$$set --packages $(DATA)/sites || exit; done
	$(BIN)/python -m benchmarks.near_duplicates.baselines $(SETS)/syndicated $(SETS)/versions \
		$(WITH_TEXT_DEDUP) --out benchmarks/near_duplicates/results.md
	($(BIN)/python -m benchmarks.noisy --set all --totals && \
		$(BIN)/python -m benchmarks.noisy --kinds "four names" --setting SIMILARITY=.8 && \
		$(BIN)/python -m benchmarks.noisy.others --set aside) > benchmarks/noisy.md
	$(BIN)/python -m benchmarks.published --articles $(DATA)/articles --cleaned $(DATA)/cleaned \
		--out benchmarks/published.md
	(echo "# Tools for a corpus"; echo; \
		for language in en zh; do for pages in "" "--pages $(PAGES)"; do \
		$(BIN)/python -m benchmarks.corpus --language $$language $$pages --ways here rensa --rounds 5 || exit; \
		done; done; \
		$(BIN)/python -m benchmarks.corpus --templates --documents 30000 --ways here rensa --rounds 5 || exit; \
		$(BIN)/python -m benchmarks.corpus --pages $(PAGES) --processes 2 $(WITH_TEXT_DEDUP)) > benchmarks/corpus.md
	$(BIN)/python -m benchmarks.hostile > benchmarks/hostile.md
	(for spider in selectors text none; do \
		$(BIN)/python benchmarks/crawl.py $(PAGES) --rounds 9 --only compiled,pure --spider $$spider || exit; done; \
		$(BIN)/python benchmarks/crawl.py --small 2000 --rounds 9 --only compiled,pure && \
		$(BIN)/python benchmarks/recrawl.py $(DATA)/sites/sqlite3-doc-3.46.1-7+deb13u2/usr/share/doc/sqlite3 \
			--changed lang_vacuum.html && \
		$(BIN)/python benchmarks/long_crawl.py && \
		$(BIN)/python benchmarks/families.py && \
		$(BIN)/python -m benchmarks.text $(PAGES) && \
		$(BIN)/python benchmarks/fingerprint.py $(DATA)/pairs.jsonl.xz) > benchmarks/crawl.txt
	(for size in 100000 1000000 10000000; do \
		$(BIN)/python benchmarks/index.py --size $$size --commands || exit; \
		test -z "$(POSTGRESQL)" || $(BIN)/python benchmarks/index.py --size $$size --commands \
			--url $(POSTGRESQL)_$$size || exit; done; \
		$(BIN)/python benchmarks/race.py && \
		for latency in 0 5 20; do for writers in 1 16; do test -z "$(POSTGRESQL)" || \
			$(BIN)/python benchmarks/race.py --url $(POSTGRESQL)_race --crawls --writers $$writers \
			--claims 2000 --latency $$latency || exit; done; done) > benchmarks/scale.txt
	$(BIN)/python benchmarks/scale_figure.py benchmarks/scale.txt docs/scale.svg

$(READY): pyproject.toml setup.py $(wildcard scrapy_simhash/native/*.[ch])
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet uv
	$(INSTALL) --editable '.[$(EXTRAS)]' --group test --group lint --group docs
	@$(BIN)/python -c 'from scrapy_simhash import native; print("core:", native.in_use)'
	touch $(READY)

clean:
	rm -rf .venv .nox .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache example_project/.scrapy
	rm -rf build dist docs/_build scrapy_simhash/native/_core.*.so
