# Attention Labs. `make` alone lists what there is to make.
PYTHON ?= python3
BIN := .venv/bin
EXTRAS := lab,grading,test
WORK := work
UV := $(shell command -v uv 2>/dev/null)

.PHONY: help setup lab test test-keras build grade feedback report demo bench bundle data keras clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: .venv/ready  ## Make .venv with everything the labs and the grader need

.venv/ready: pyproject.toml constraints.txt
ifdef UV
	$(UV) venv -q --allow-existing --python $(PYTHON) .venv
	$(UV) pip install -q --python $(BIN)/python -c constraints.txt -e '.[$(EXTRAS)]'
else
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[$(EXTRAS)]'
endif
	@touch $@
	@echo "Ready. Students: make lab. Instructors: make demo."

lab: setup  ## Open JupyterLab on work/, your own copies of the labs
	$(BIN)/autograder start $(WORK)
	$(BIN)/jupyter lab --notebook-dir $(WORK) --LabApp.default_url=/lab/tree/README.ipynb $(JUPYTER_OPTIONS)

test: setup  ## Run every test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pytest -q -n auto --dist loadfile

test-keras: keras  ## Run the tests of the lab keras-attention, on the backend in KERAS_BACKEND
	$(BIN)/pytest -q tests/test_keras.py

build: setup  ## Make notebooks/ and the answer keys from solutions/
	$(BIN)/autograder build

grade: setup  ## Mark the hand-ins in classroom/
	$(BIN)/autograder grade

feedback: setup  ## Make the students' feedback pages
	$(BIN)/autograder feedback

report: setup  ## Write the class's report
	$(BIN)/autograder report

demo: setup  ## A sample class of 30 in demo/: collected, graded, fed back, reported
	rm -rf demo
	$(BIN)/python -m autograder.grading.sample_class demo
	-$(BIN)/autograder collect demo/download.zip --classroom demo | tail -n 1
	$(BIN)/autograder grade qkv-attention --classroom demo
	$(BIN)/autograder feedback qkv-attention --classroom demo
	@echo "The report:"
	@$(BIN)/autograder report --classroom demo

bench: setup  ## Measure checking and grading against stock nbgrader, as ratios
	$(BIN)/python tests/bench.py $(BENCH)

data: setup  ## Fetch the real word vectors in place of the shipped ones
	$(BIN)/autograder data

keras: setup  ## Add Keras and TensorFlow, for the lab keras-attention
	$(BIN)/pip install -q -c constraints.txt -e '.[$(EXTRAS),keras]'
	@echo "Ready: the lab keras-attention runs now."

bundle: setup  ## One zip for students: dist/attention-labs.zip
	$(BIN)/python -m autograder.labs.bundle

clean:  ## Remove what the targets made, but not work/ nor classroom/
	rm -rf .venv demo dist build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
