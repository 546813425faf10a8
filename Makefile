# Two commands on a fresh machine: `make demo` and `make test`. Both set themselves up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint chromium benchmarks clean

demo: $(VENV)/.ready
	$(BIN)/python example_project/demo.py $(DEMO_ARGS)

test: $(VENV)/.ready-test lint chromium
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --cov --cov-report=term $(TEST_ARGS)

lint: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The browser of the dashboard's tests: $CHROMIUM, the system's, or installed by apt-get where that is allowed.
chromium:
	@sh tests/dashboard/chromium.sh

# These have to be told what to measure: recorded histories, an empty database.
TOLD := hub_rhythm hub_sweep large_database league

benchmarks: $(VENV)/.ready-test
	failed=; \
	for script in $(filter-out $(TOLD:%=benchmarks/%.py),$(wildcard benchmarks/*.py)); do \
		$(BIN)/python $$script || failed="$$failed $$script"; \
	done; \
	test -z "$$failed" || { echo "Failed:$$failed"; exit 1; }

# A virtual environment with the package; made anew when the pinned versions or the package's needs change.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable .
	touch $@

$(VENV)/.ready-test: $(VENV)/.ready
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
