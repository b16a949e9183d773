"""
One utterance between engine and listener: tracks, pacing and the core on the sending side, the
playout on the listening side. Pure: time is an argument.
"""
