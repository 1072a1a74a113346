# In the students' zip this is the Makefile: the commands of its README, for those who have make.
PYTHON ?= python3

.PHONY: setup lab keras data

setup: .venv/ready-lab

.venv/ready-lab: pyproject.toml constraints.txt install.py
	@"$(PYTHON)" install.py lab

lab: setup
	@.venv/bin/autograder lab work $(JUPYTER_OPTIONS)

keras: setup
	@"$(PYTHON)" install.py keras

data: setup
	.venv/bin/python -m attention_labs.download
	.venv/bin/python -m attention_labs.download_gpt2
