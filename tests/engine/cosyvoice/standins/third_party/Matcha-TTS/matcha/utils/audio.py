"""The mel spectrogram's shape without librosa's filters."""

import torch


def mel_spectrogram(y, n_fft, num_mels, sampling_rate, hop_size, win_size, fmin, fmax, center=False):
    pad = (n_fft - hop_size) // 2
    y = torch.nn.functional.pad(y[:, None], (pad, pad), mode="reflect")[:, 0]
    window = torch.hann_window(win_size)
    spectrum = torch.stft(y, n_fft, hop_size, win_size, window, center=center, return_complex=True).abs()
    return torch.log(spectrum[:, :num_mels].clamp(min=1e-5))
