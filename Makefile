# Splitting a Model Across Devices. Needs Python 3.11 or newer, git and make; `make help` lists the rest.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
STAMP := .venv/.installed
SITE := _build/html
BUILD := $(BIN)/jupyter-book build book --config _config.yml --toc "$(CURDIR)/_toc.yml" \
	--path-output . -W -n --keep-going
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help book test lab serve clean constraints
.DEFAULT_GOAL := help

help: ## list these commands
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

book: $(STAMP) ## run every notebook afresh and build the site
	@rm -rf $(SITE) _build/.doctrees _build/jupyter_execute
	$(BUILD)
	@echo "Open file://$(CURDIR)/$(SITE)/index.html"

test: $(STAMP) ## lint, types, unit tests, doctests; then the site, built and looked at in Chromium
	@$(BIN)/python tests/site/browser.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n 2 --ignore tests/site --ignore tests/test_notebooks.py
	@$(MAKE) --no-print-directory book
	$(BIN)/pytest -q -n 2 --dist loadfile tests/test_notebooks.py tests/site

lab: $(STAMP) ## open the chapters as notebooks in JupyterLab
	JUPYTER_CONFIG_PATH="$(CURDIR)/.jupyter" $(BIN)/jupyter lab --notebook-dir book \
		$(if $(filter 0,$(shell id -u)),--allow-root)

serve: $(STAMP) ## build, serve on localhost, rebuild what changes
	-$(BUILD)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT) & \
	trap "kill $$!" EXIT; echo "http://127.0.0.1:$(PORT)"; \
	$(BIN)/watchfiles '$(BUILD)' book lib _config.yml _toc.yml

clean: ## remove everything that was built, and the virtual environment
	rm -rf _build build dist lib/*.egg-info .venv

constraints: $(STAMP) ## pin again what requirements.txt brings along
	$(BIN)/pip-compile --quiet --allow-unsafe --strip-extras --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
		--output-file constraints.txt requirements.txt

$(STAMP): requirements.txt constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -r requirements.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
