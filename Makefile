# Attention Labs. `make` alone lists what there is to make.
PYTHON ?= python3
BIN := .venv/bin
WORK := work
# What is compiled is kept, whatever the environment says: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
# Where there is no such Python, uv brings one.
define install
@if command -v "$(PYTHON)" >/dev/null; then "$(PYTHON)" install.py $(1); \
elif command -v uv >/dev/null; then uv run -q --no-project python install.py $(1); \
else echo 'There is no $(PYTHON) here: install Python, or name one, as in `make $(1) PYTHON=python3.13`.' >&2; exit 1; fi
endef

define tests
$(BIN)/ruff check .
$(BIN)/ruff format --check .
$(BIN)/mypy
$(BIN)/pytest -q -rs -n auto --dist worksteal $(1)
endef

.PHONY: help setup lab test test-all test-keras build grade feedback report demo bench bundle release web data portable keras clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/ready-setup  ## Make .venv with everything the labs, the grader and the tests need

.venv/ready-%: pyproject.toml constraints.txt install.py
	$(call install,$*)

lab: .venv/ready-lab  ## Open JupyterLab on work/, your own copies of the labs
	@$(BIN)/autograder lab "$(WORK)" $(JUPYTER_OPTIONS)

test: setup  ## Run the tests but the long ones: two to four minutes
	$(call tests,-m "not long")

test-all: setup  ## Run every test, as CI does
	$(tests)

test-keras: setup keras  ## Run the tests that need Keras, on the backend in KERAS_BACKEND
	$(BIN)/pytest -q -rs tests/labs/test_keras.py tests/labs/test_keras_layers.py

build: setup  ## Make notebooks/ and the answer keys from solutions/
	$(BIN)/autograder build

grade: setup  ## Mark the submissions in classroom/
	$(BIN)/autograder grade

feedback: setup  ## Make the students' feedback pages
	$(BIN)/autograder feedback

report: setup  ## Write the class's report
	$(BIN)/autograder report

demo: setup  ## A sample class of 30 in demo/: collected, graded, fed back, reported
	rm -rf demo
	$(BIN)/python tests/sample_class.py demo
	-$(BIN)/autograder collect demo/download.zip --classroom demo | tail -n 1
	$(BIN)/autograder grade qkv-attention --classroom demo
	$(BIN)/autograder feedback qkv-attention --classroom demo
	@echo "The report:"
	@$(BIN)/autograder report --classroom demo
	@echo "In the formgrader: AUTOGRADER_CLASSROOM=demo $(BIN)/jupyter lab, then Nbgrader, Formgrader"

bench: setup  ## Measure checking and grading against stock nbgrader, as ratios
	$(BIN)/python tests/bench.py $(BENCH)

data: setup  ## Fetch trained word vectors (25 MB) and GPT-2 small (550 MB) in place of the shipped ones
	$(BIN)/python -m attention_labs.download
	$(BIN)/python -m attention_labs.download_gpt2

portable: setup  ## Add the sandbox that marks submissions anywhere: macOS, Windows, a container
	$(call install,portable)

keras: .venv/ready-lab  ## Add Keras, on TensorFlow, JAX or PyTorch, for the lab that needs it
	$(call install,keras)

bundle: setup  ## One zip for students: dist/attention-labs.zip
	@$(BIN)/autograder bundle

release: setup  ## What a release holds, in dist/: two wheels, their pins, the students' zip
	@$(BIN)/python -m autograder.authoring.distribution

web: setup  ## The labs as a static site, dist/web: they run in the browser
	$(BIN)/autograder web $(if $(PYODIDE),--pyodide "$(PYODIDE)")

clean:  ## Remove what the targets made, but not work/ nor classroom/
	rm -rf .venv demo dist build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
