"""
Make a model folder of CosyVoice's own classes with tiny random weights: `python tiny.py FOLDER VERSION`.

Runs under the interpreter that has torch and CosyVoice. The sound is noise, but everything around it
is real: text front end, language model in its own thread, flow, vocoder, caches, chunks. The end token
is never sampled, so a text of n tokens makes exactly 20 n speech tokens and lengths are known.
"""

import sys
from pathlib import Path

import onnx
import torch
from hyperpyyaml import load_hyperpyyaml
from onnx import TensorProto, helper
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

HIDDEN = 64
FIRST_SPECIAL = 151_643
"""Where Qwen2's special tokens begin; CosyVoice3 has the number of its mark, 151646, in its code."""

VOICES = ("中文女", "英文女")

HIFT = """
hift: !new:cosyvoice.hifigan.generator.{generator}
    in_channels: 80
    base_channels: 32
    nb_harmonics: 8
    sampling_rate: !ref <sample_rate>
    nsf_alpha: 0.1
    nsf_sigma: 0.003
    nsf_voiced_threshold: 10
    upsample_rates: {rates}
    upsample_kernel_sizes: {kernels}
    istft_params: {{n_fft: 16, hop_len: 4}}
    resblock_kernel_sizes: [3]
    resblock_dilation_sizes: [[1, 3, 5]]
    source_resblock_kernel_sizes: {source}
    source_resblock_dilation_sizes: {dilations}
    lrelu_slope: 0.1
    audio_limit: 0.99
    f0_predictor: !new:cosyvoice.hifigan.f0_predictor.{predictor}
        num_class: 1
        in_channels: 80
        cond_channels: 32
"""

CFM = """
    decoder: !new:cosyvoice.flow.flow_matching.{cfm}
        in_channels: 240
        n_spks: 1
        spk_emb_dim: 80
        cfm_params: !new:omegaconf.DictConfig
            content: {{sigma_min: 1e-06, solver: euler, t_scheduler: cosine, training_cfg_rate: 0.2,
                      inference_cfg_rate: 0.7, reg_loss_type: l1}}
"""

ESTIMATOR = """
        estimator: !new:cosyvoice.flow.decoder.{estimator}
            in_channels: 320
            out_channels: 80
            channels: {channels}
            dropout: 0.0
            attention_head_dim: 16
            n_blocks: 1
            num_mid_blocks: 1
            num_heads: 2
            act_fn: gelu
"""

DIT = """
        estimator: !new:cosyvoice.flow.DiT.dit.DiT
            dim: 64
            depth: 1
            heads: 2
            dim_head: 32
            ff_mult: 2
            mel_dim: 80
            mu_dim: 80
            spk_dim: 80
            out_channels: 80
            static_chunk_size: 50
            num_decoding_left_chunks: -1
"""

CONFORMER = """
        attention_heads: 2
        linear_units: 64
        num_blocks: 1
        dropout_rate: 0.1
        positional_dropout_rate: 0.1
        attention_dropout_rate: 0.0
        normalize_before: True
        input_layer: {layer}
        pos_enc_layer_type: rel_pos_espnet
        selfattention_layer_type: rel_selfattn
"""

SAMPLING = """
    sampling: !name:cosyvoice.utils.common.ras_sampling {top_p: 0.8, top_k: 25, win_size: 10, tau_r: 0.1}
"""

MEL = """
feat_extractor: !name:matcha.utils.audio.mel_spectrogram
    n_fft: {fft}
    num_mels: 80
    sampling_rate: !ref <sample_rate>
    hop_size: {hop}
    win_size: {fft}
    fmin: 0
    fmax: 8000
    center: False
allowed_special: all
"""

QWEN_TOKENIZER = """
get_tokenizer: !name:cosyvoice.tokenizer.tokenizer.get_qwen_tokenizer
    token_path: !ref <qwen_pretrain_path>
    skip_special_tokens: True
"""


def _v1():
    encoder = (
        CONFORMER.format(layer="linear") + "        use_cnn_module: False\n        macaron_style: False\n"
    )
    llm = CONFORMER.replace("        normalize_before: True\n", "").format(layer="linear_legacy")
    return (
        """
sample_rate: 22050
llm: !new:cosyvoice.llm.llm.TransformerLM
    text_encoder_input_size: 64
    llm_input_size: 64
    llm_output_size: 64
    text_token_size: 60515
    speech_token_size: 64
    spk_embed_dim: 192
    text_encoder: !new:cosyvoice.transformer.encoder.ConformerEncoder
        input_size: 64
        output_size: 64
        static_chunk_size: 1"""
        + encoder
        + """
    llm: !new:cosyvoice.transformer.encoder.TransformerEncoder
        input_size: 64
        output_size: 64
        static_chunk_size: 1"""
        + llm
        + SAMPLING
        + """
flow: !new:cosyvoice.flow.flow.MaskedDiffWithXvec
    input_size: 64
    output_size: 80
    spk_embed_dim: 192
    output_type: mel
    vocab_size: 64
    input_frame_rate: 50
    encoder: !new:cosyvoice.transformer.encoder.ConformerEncoder
        input_size: 64
        output_size: 64"""
        + encoder
        + """
    length_regulator: !new:cosyvoice.flow.length_regulator.InterpolateRegulator
        channels: 80
        sampling_ratios: [1, 1, 1, 1]"""
        + CFM.format(cfm="ConditionalCFM")
        + ESTIMATOR.format(estimator="ConditionalDecoder", channels="[32, 32]")
        + HIFT.format(
            generator="HiFTGenerator",
            predictor="ConvRNNF0Predictor",
            rates="[8, 8]",
            kernels="[16, 16]",
            source="[7, 11]",
            dilations="[[1, 3, 5], [1, 3, 5]]",
        )
        + MEL.format(fft=1024, hop=256)
        + """
get_tokenizer: !name:cosyvoice.tokenizer.tokenizer.get_tokenizer
    multilingual: True
    num_languages: 100
    language: en
    task: transcribe
"""
    )


def _v2(version):
    third = version == 3
    lookahead = """
    pre_lookahead_layer: !new:cosyvoice.transformer.upsample_encoder.PreLookaheadLayer
        in_channels: 80
        channels: 32
        pre_lookahead_len: 3"""
    encoder = (
        """
    encoder: !new:cosyvoice.transformer.upsample_encoder.UpsampleConformerEncoder
        input_size: 512
        output_size: 512
        static_chunk_size: 25"""
        + CONFORMER.format(layer="linear")
        + "        use_cnn_module: False\n        macaron_style: False\n"
    )
    estimator = ESTIMATOR.format(estimator="CausalConditionalDecoder", channels="[32]")
    estimator += "            static_chunk_size: 50\n            num_decoding_left_chunks: -1\n"
    causal = "Causal" if third else ""
    return (
        f"""
sample_rate: 24000
qwen_pretrain_path: ''
llm: !new:cosyvoice.llm.llm.{"CosyVoice3LM" if third else "Qwen2LM"}
    llm_input_size: {HIDDEN}
    llm_output_size: {HIDDEN}
    speech_token_size: 64
    mix_ratio: [5, 15]
    llm: !new:cosyvoice.llm.llm.Qwen2Encoder
        pretrain_path: !ref <qwen_pretrain_path>
"""
        + SAMPLING
        + f"""
flow: !new:cosyvoice.flow.flow.{"CausalMaskedDiffWithDiT" if third else "CausalMaskedDiffWithXvec"}
    input_size: {80 if third else 512}
    output_size: 80
    spk_embed_dim: 192
    output_type: mel
    vocab_size: 64
    input_frame_rate: 25
    token_mel_ratio: 2
    pre_lookahead_len: 3"""
        + (lookahead if third else encoder)
        + CFM.format(cfm="CausalConditionalCFM")
        + (DIT if third else estimator)
        + HIFT.format(
            generator=causal + "HiFTGenerator",
            predictor=causal + "ConvRNNF0Predictor",
            rates="[8, 5, 3]",
            kernels="[16, 11, 7]",
            source="[7, 7, 11]",
            dilations="[[1, 3, 5], [1, 3, 5], [1, 3, 5]]",
        )
        + MEL.format(fft=1920, hop=480)
        + QWEN_TOKENIZER
        + ("    version: cosyvoice3\n" if third else "")
    )


def _save_qwen(folder, version):
    """A byte-level tokenizer and a Qwen2 of two layers."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {char: n for n, char in enumerate(alphabet)}
    if version == 3:
        vocabulary |= {f"unused {n}": n for n in range(len(alphabet), FIRST_SPECIAL)}
    words = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
    fast.save_pretrained(folder)
    config = Qwen2Config(
        vocab_size=FIRST_SPECIAL + 500 if version == 3 else 512,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2,
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)


def _save_onnx(folder, version):
    """A speaker model ([1, T, 80] to [1, 192]) and a speech tokenizer ([1, 128, T] to whole numbers)."""
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    flat = helper.make_tensor("shape", TensorProto.INT64, [2], [1, 192])
    wide = helper.make_tensor("wide", TensorProto.INT64, [2], [1, 3])
    cut = _numbers(begin=0, end=192, axis=1, step=1)
    speaker = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["input", "axes"], ["mean"], keepdims=0),
            helper.make_node("Tile", ["mean", "wide"], ["many"]),
            helper.make_node("Slice", ["many", "begin", "end", "axis", "step"], ["row"]),
            helper.make_node("Reshape", ["row", "shape"], ["output"]),
        ],
        "campplus",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, "T", 80])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 192])],
        [axes, flat, wide, *cut],
    )
    onnx.save(_model(speaker), folder / "campplus.onnx")
    cut = _numbers(begin=0, end=1 << 30, axis=1, step=2 if version == 1 else 4)
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [1e4])
    vocabulary = helper.make_tensor("vocabulary", TensorProto.INT32, [], [64])
    tokenizer = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["feats", "axes"], ["mean"], keepdims=0),
            helper.make_node("Slice", ["mean", "begin", "end", "axis", "step"], ["row"]),
            helper.make_node("Abs", ["row"], ["size"]),
            helper.make_node("Mul", ["size", "scale"], ["large"]),
            helper.make_node("Cast", ["large"], ["whole"], to=TensorProto.INT32),
            helper.make_node("Mod", ["whole", "vocabulary"], ["tokens"]),
        ],
        "speech_tokenizer",
        [
            helper.make_tensor_value_info("feats", TensorProto.FLOAT, [1, 128, "T"]),
            helper.make_tensor_value_info("feats_length", TensorProto.INT32, [1]),
        ],
        [helper.make_tensor_value_info("tokens", TensorProto.INT32, [1, "N"])],
        [axes, scale, vocabulary, *cut],
    )
    onnx.save(_model(tokenizer), folder / f"speech_tokenizer_v{version}.onnx")


def _numbers(**values):
    return [helper.make_tensor(name, TensorProto.INT64, [1], [value]) for name, value in values.items()]


def _model(graph):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _never_end(llm):
    """Make the tokens that end a text impossible."""
    decoder = llm.llm_decoder
    with torch.no_grad():
        if decoder.bias is not None:
            decoder.bias[64:] = -1e9
            return
    # CosyVoice3's has no bias. Of two opposite rows one is always far above the zeros of the end tokens;
    # of the tokens that it takes for silence, and drops when there are too many, none may win.
    with torch.no_grad():
        decoder.weight[:32] *= 50
        decoder.weight[32:64] = -decoder.weight[:32]
        decoder.weight[64:] = 0
        decoder.weight[[1, 2, 28, 29, 55]] = 0


def _sicken(parts):
    """A text with a `~` in it makes the language model's thread raise."""
    llm = parts["llm"]
    words = llm.text_embedding if hasattr(llm, "text_embedding") else llm.llm.model.model.embed_tokens
    with torch.no_grad():
        words.weight[parts["get_tokenizer"]().encode("~", allowed_special="all")] = float("nan")


def make(folder, version):
    """Fill `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "__seed: !apply:torch.manual_seed [7]\n" + (_v1() if version == 1 else _v2(version))
    name = "cosyvoice.yaml" if version == 1 else f"cosyvoice{version}.yaml"
    (folder / name).write_text(text, encoding="utf-8")
    overrides = {}
    if version > 1:
        qwen = folder / "CosyVoice-BlankEN"
        _save_qwen(qwen, version)
        overrides = {"qwen_pretrain_path": str(qwen)}
    _save_onnx(folder, version)
    parts = load_hyperpyyaml(text, overrides=overrides)
    _never_end(parts["llm"])
    _sicken(parts)
    for part in ("llm", "flow", "hift"):
        weights = parts[part].state_dict()
        torch.save(weights, folder / f"{part}.pt")
    torch.manual_seed(11)
    torch.save({voice: {"embedding": torch.randn(1, 192)} for voice in VOICES}, folder / "spk2info.pt")


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
