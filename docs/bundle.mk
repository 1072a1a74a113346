# In the students' zip this is the Makefile: the commands of its README, for those who have make.
PYTHON ?= python3

.PHONY: setup lab keras

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install -q -c constraints.txt -e .
	@touch $@

lab: setup
	.venv/bin/autograder start
	.venv/bin/jupyter lab work/README.ipynb $(JUPYTER_OPTIONS)

keras: setup
	.venv/bin/pip install -q -c constraints.txt -e '.[keras]'
