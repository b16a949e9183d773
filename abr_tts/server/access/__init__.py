"""
Who may come in: keys, tokens, tickets, certificates.
"""
