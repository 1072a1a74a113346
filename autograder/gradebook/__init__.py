"""Data of a class: submissions, class list, grading policy, cached results, nbgrader's database."""
