"""What the labs of this course import besides."""
