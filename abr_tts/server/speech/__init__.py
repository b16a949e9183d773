"""
One utterance, from its text or clip to its messages.
"""
