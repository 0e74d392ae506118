"""What the server, the worker and the client share: the contract's stubs, logs, queue keys and the model registry."""

__version__ = "0.1.0"
