# The two commands of the README. Everything is installed into .venv; nothing else is touched, except
# that the tests install the package chromium where they are run by root on Debian.
PYTHON ?= python3
BIN := .venv/bin
.PHONY: train test lint pins clean

train: .venv/.installed
	$(BIN)/coe demo

test: .venv/.installed-test
	$(BIN)/python -m pytest

lint: .venv/.installed-test
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/pyright

# The versions that .venv has now, for whoever wants the same.
pins: .venv/.installed-test
	mkdir -p requirements
	@echo "# The versions of one machine, $$($(BIN)/python -V), on which the tests ran. Written by 'make pins'." > requirements/pinned.txt
	$(BIN)/python -m pip freeze --exclude-editable >> requirements/pinned.txt

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml .venv/bin/python
	@echo "installing coemarl and what it needs into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	@touch $@

.venv/.installed-test: pyproject.toml .venv/bin/python
	@echo "installing coemarl and what its tests need into .venv"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@.ci/browser
	@touch $@ .venv/.installed

clean:
	rm -rf .venv
