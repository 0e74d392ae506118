"""Text generation: from a job's passages and question to pieces of text. Knows nothing of the queue."""

import os

# Read by OpenMP as llama.cpp's libraries are loaded. Its threads spin while they wait for each other, which on cores
# that are shared with anything else (the server, here) costs most of the speed: measured 1.4 instead of 18 tokens/s.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
