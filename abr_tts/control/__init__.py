"""What to send next, and why: the ladder and the controllers. Pure; it never sees a sample."""
