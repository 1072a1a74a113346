"""The labs as a static site that runs in a browser: `autograder web`, beside the engine."""
