"""
The door for gRPC: one call of `Speech.Speak` (protocol/abr_tts.proto) is one connection of the protocol.
"""
