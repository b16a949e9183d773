"""
From a message to the kernel: as late as can be, and no more than the link may carry.
"""
