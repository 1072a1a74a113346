"""Find similar submissions of a class, for the command `autograder similar`.

The package lies beside the package `autograder`, and needs the optional dependencies of the extra
`similarity`. It reads the results that grading has stored, and writes a page,
`report/similar.html`.

shared_passages  measure how similar two submissions are, in their words and in their code
pairs            find the similar submissions of a class
similar_page     write the page
command          define the command
"""
