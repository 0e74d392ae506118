"""What generates: the local engine, a remote model over HTTP, and the order in which they stand in for each other."""
