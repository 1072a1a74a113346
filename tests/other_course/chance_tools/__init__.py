"""Package that the labs of this course import."""
