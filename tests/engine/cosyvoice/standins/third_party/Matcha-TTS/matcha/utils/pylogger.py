"""A logger."""

import logging


def get_pylogger(name):
    return logging.getLogger(name)
