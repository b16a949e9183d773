"""Text in, PCM out: engines in worker processes of their own, and the pool before them."""
