"""
Streams whose connection was lost, kept until another one takes them.
"""
