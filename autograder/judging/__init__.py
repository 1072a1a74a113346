"""Call students' functions, compare the results with the expected ones, explain differences.

After any change in this folder the grader discards its cached results; see
`autograder.gradebook.result_store`."""
