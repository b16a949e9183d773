"""A text normalizer that leaves the text alone."""


class Normalizer:
    def __init__(self, **options):
        pass

    def normalize(self, text):
        return text
