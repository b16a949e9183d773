"""A mel spectrogram in name only, 100 frames a second."""


def log_mel_spectrogram(speech, n_mels):
    frames = speech[0].unfold(0, 160, 160)
    return frames.repeat(1, 1 + n_mels // 160)[:, :n_mels].abs().T[None].contiguous()
