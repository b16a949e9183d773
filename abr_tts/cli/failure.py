"""The one exception of the command line itself: a fault to be told in a sentence."""


class Failure(Exception):
    """
    What went wrong, and what to do about it, in one sentence for the person at the terminal.

    Args:
        status: exit status, 1 for a failure and 2 for wrong usage.
    """

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status
