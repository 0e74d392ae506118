"""The retrieval server: documents in, ranked passages and cited answers out, over gRPC."""
