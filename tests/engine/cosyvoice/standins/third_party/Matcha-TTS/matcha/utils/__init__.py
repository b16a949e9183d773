"""Without the trainer, whose packages are large."""
