"""What tests share: real processes, real Valkey, and ways to wait for them."""
