"""Searching: text to terms and vectors, ranked lists, fusion. Pure: no gRPC, no Redis, no storage of documents."""
