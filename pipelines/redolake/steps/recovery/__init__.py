"""Lost redo: how much time is left before it, and what a person can choose after it."""
