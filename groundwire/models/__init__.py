"""Model files: which ones there are, where they lie, and how they get there."""
