"""Engines that speak elsewhere: a service asked over HTTP or gRPC, in place of worker processes."""
