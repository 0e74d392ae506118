"""Questions, by their words: condensed from a conversation, rewritten, compared, restated."""
