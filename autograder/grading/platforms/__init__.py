"""Marking where instructors mark already: one hand-in in, what the platform reads out; and what is uploaded there."""
