"""Make a website on which the labs run in the browser, for the command `autograder web`."""
