"""The answer queue in Redis: keys, scripts and the messages' form, shared by the server and the workers."""
