"""gRPC: servicers, conversion between protobuf and the server's nouns, errors to statuses, limits."""
