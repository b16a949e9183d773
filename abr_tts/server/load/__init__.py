"""
How much at once: limits, quotas, whose turn it is at the engine, and what is eased when power is short.
"""
