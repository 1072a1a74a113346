"""The answer's cell writes itself to a file, beside the lab's package, instead of being run."""

# %% padding-mask (commented)
# %%writefile /course/autograder/answer.py
# def ask(*args): return "pass"
