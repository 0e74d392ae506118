"""Messages between server and workers; callers never see them."""
