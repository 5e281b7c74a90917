# The two commands of the README. Everything is installed into .venv; nothing else is touched, except
# that the tests install the package chromium where they are run by root on Debian.
PYTHON ?= python3
BIN := .venv/bin
.PHONY: train test lint clean

train: .venv/.installed
	$(BIN)/coe demo

test: .venv/.installed-test
	$(BIN)/python -m pytest

lint: .venv/.installed-test
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/pyright

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plots]'
	touch $@

.venv/.installed-test: pyproject.toml .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@.ci/browser
	touch $@ .venv/.installed

clean:
	rm -rf .venv
