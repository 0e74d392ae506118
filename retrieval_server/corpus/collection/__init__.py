"""One open collection: database and indexes as one thing, what searches see of it, its work in the background."""
