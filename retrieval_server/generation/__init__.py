"""The producer side of answers: packing, queueing, following, checking and the extractive fallback."""
