"""How the next token is chosen, apart from any model: pure functions and small state machines over token ids."""
