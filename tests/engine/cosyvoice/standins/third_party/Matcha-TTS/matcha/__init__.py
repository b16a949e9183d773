"""Matcha without its trainer; `models` and `hifigan` are linked in beside this file."""
