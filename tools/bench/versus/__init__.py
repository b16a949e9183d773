"""
The parts of `versus.py`: what is said where (`plan`), the engine that all arms share (`paced`), the
servers (`serve`, `plain`, `rtc_server`), their listeners (`listeners`, `rtc_listener`), and what is
made of what they heard (`heard`, `sound`, `paired`).
"""
