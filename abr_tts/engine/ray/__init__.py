"""
The pool that outgrows a machine: workers are actors of a Ray cluster.

Nothing of Ray is imported before such a pool starts.
"""

from .pool import RayPool

__all__ = ["RayPool"]
