"""Find out why a student's function is wrong, by small changes of it, and show what was found."""
