"""State that outlives a process: taken out of objects, written so that it is there whole, and put back."""
