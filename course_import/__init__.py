"""Import notebooks made for another grader (nbgrader, otter) as labs: `autograder import`."""
