"""Whether an answer may be said: which lines back it, and whether the passages speak of what is asked."""
