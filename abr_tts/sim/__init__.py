"""Worlds in virtual time: networks, listeners and engines around the very core. Pure; seeded."""
