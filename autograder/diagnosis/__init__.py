"""Find out why a student's function is wrong by changing it in small ways, and show the result."""
