"""A filter bank in name only: bins of energies, every 10 ms."""


def fbank(speech, num_mel_bins, dither, sample_frequency):
    frames = speech[0].unfold(0, sample_frequency // 40, sample_frequency // 100)
    return frames[:, : num_mel_bins * 5].reshape(len(frames), num_mel_bins, 5).abs().mean(dim=2)
