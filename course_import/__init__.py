"""Import of another grader's notebooks as labs of a course: `autograder import`."""
