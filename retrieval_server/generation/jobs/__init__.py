"""The producer's side of the queue: jobs in, events out, dead letters, and the ends of all of them."""
