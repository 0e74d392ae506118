"""The generation worker: takes jobs from the answer queue and streams what a local model writes."""
