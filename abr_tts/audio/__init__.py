"""Samples: conversions, the timeline, resampling and Opus. Pure: no clock, no thread, no socket."""
