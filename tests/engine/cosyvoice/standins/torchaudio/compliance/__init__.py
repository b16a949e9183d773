"""Kaldi's features."""

from . import kaldi

__all__ = ["kaldi"]
