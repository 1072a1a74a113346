"""The class register: its folder, who is in it, what is kept of each hand-in, and what a verdict is worth."""
