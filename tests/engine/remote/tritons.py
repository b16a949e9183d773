"""A Triton server of one model, from the stubs that tritonclient ships, as CosyVoice's model answers."""

import asyncio
import contextlib

import grpc
import grpc.aio
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc as stubs

from .fakes import Answer


def inputs_of(request):
    """The tensors of a request, by name."""
    found = {}
    for tensor, data in zip(request.inputs, request.raw_input_contents, strict=True):
        shape = tuple(tensor.shape)
        if tensor.datatype == "BYTES":
            assert shape == (1, 1) and int.from_bytes(data[:4], "little") == len(data) - 4
            found[tensor.name] = data[4:].decode()
        else:
            found[tensor.name] = np.frombuffer(data, {"FP32": "<f4", "INT32": "<i4"}[tensor.datatype])
            assert found[tensor.name].size == np.prod(shape) and shape[0] == 1
    return found


def response(samples, final=False, datatype="FP32"):
    """One response: `waveform`, or none in an empty final one."""
    answer = pb.ModelInferResponse(model_name="cosyvoice2")
    if samples is not None:
        answer.outputs.add(name="waveform", datatype=datatype, shape=[1, samples.size])
        answer.raw_output_contents.append(samples.tobytes())
    answer.parameters["triton_final_response"].bool_param = final
    return pb.ModelStreamInferResponse(infer_response=answer)


class Servicer(stubs.GRPCInferenceServiceServicer):
    """Answers as `script` says; `then` may be "error" (in mid-stream), "abort" or "early" (no final)."""

    def __init__(self, script, model="cosyvoice2", decoupled=True):
        self.script, self.model, self.decoupled = script, model, decoupled

    async def ModelReady(self, request, context):
        if request.name != self.model:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"Request for unknown model: '{request.name}'")
        return pb.ModelReadyResponse(ready=self.model != "unloaded")

    async def ModelStreamInfer(self, requests, context):
        async for request in requests:
            with self.script.serving(inputs_of(request)):
                assert request.parameters["triton_enable_empty_final_response"].bool_param
                async for one in self._played(self.script.next(), context):
                    yield one

    async def _played(self, answer, context):
        if answer.then == "unavailable":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "no GPU")
        for place, chunk in enumerate(answer.chunks):
            await asyncio.sleep(answer.pause_s)
            last = not self.decoupled and place == len(answer.chunks) - 1
            yield response(chunk, last, answer.headers.get("datatype", "FP32"))
        if answer.then == "hang":
            await asyncio.Event().wait()
        if answer.then == "error":
            yield pb.ModelStreamInferResponse(error_message="CUDA out of memory")
        elif answer.then == "abort":
            await context.abort(grpc.StatusCode.INTERNAL, "the backend died")
        elif answer.then == "end" and self.decoupled:
            yield response(None, final=True)


def spoken(floats, plan, pause_s=0.01, then="end", **headers):
    """Float samples in chunks of `plan` seconds."""
    cuts = np.cumsum([round(one * 24_000) for one in plan])
    parts = [part for part in np.split(floats, cuts[cuts < floats.size]) if part.size]
    return Answer(tuple(parts), pause_s, then, headers=headers)


def triton_server(script, *, tls=None, **more):
    """A server of `Servicer`; yields its address."""
    return serve(Servicer(script, **more), tls)


@contextlib.asynccontextmanager
async def serve(servicer, tls=None):
    """A gRPC server on loopback; `tls`: key and certificates in PEM. Yields its address."""
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", 64 << 20)])
    stubs.add_GRPCInferenceServiceServicer_to_server(servicer, server)
    if tls:
        port = server.add_secure_port("localhost:0", grpc.ssl_server_credentials([tls]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"grpcs://localhost:{port}" if tls else f"grpc://127.0.0.1:{port}"
    finally:
        await server.stop(0.1)
