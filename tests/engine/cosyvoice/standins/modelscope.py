"""No model is fetched from anywhere."""


def snapshot_download(name):
    raise AssertionError(f"{name} would be downloaded")
