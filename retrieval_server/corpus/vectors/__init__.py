"""Window vectors: computed, kept in immutable segments, merged and searched through a graph in the background."""
