"""
What operators see: metrics, logs, pages, memory.
"""
