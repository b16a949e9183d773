"""
The OpenAPI document of the door (OpenAPI 3.1), made of the models that validate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ... import __version__
from ..access import ticket_document
from ..doors.formats import FORMS
from . import models as m

REF = "#/components/schemas/{name}"
"""Where the schema of a model is."""

SCHEMAS = (
    m.SpeechRequest, m.AudioDelta, m.AudioDone, m.Model, m.ModelList, m.VoiceList, m.VoiceNames,
    m.FaultAnswer, *ticket_document.RECORDS,
)  # fmt: skip

FAULTS = {
    "400": "The request cannot be fulfilled; `param` names the field.",
    "401": "No key, or one that is not known.",
    "403": "A web page of an origin that may not connect.",
    "408": "The request was not here in time.",
    "413": "The body is too large.",
    "429": "More than the key may ask for; `Retry-After` says when to try again.",
    "500": "The speech failed.",
    "503": "The server is busy or stopping; `Retry-After` says when to try again.",
    "504": "The engine was silent for too long.",
}
"""What may be answered instead, and why."""

LATER = ("429", "503")
"""Those of them that say when to try again (`doors.faults.retry_after`)."""


def document(url: str = "/") -> dict[str, Any]:
    """
    The whole of it, as JSON values.

    Args:
        url: where the server is.
    """
    _, schemas = msgspec.json.schema_components(SCHEMAS, ref_template=REF)
    schemas["FaultAnswer"]["description"] = "The body of every answer from 400 on, but of /v1/tickets."
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "abr-tts",
            "version": __version__,
            "description": "Speech as OpenAI's clients ask for it. The native protocol is a WebSocket, "
            "for which /v1/tickets lets pages in.",
        },
        "servers": [{"url": url}],
        "security": [{"key": []}, {}],
        "paths": {
            "/v1/audio/speech": {"post": _speech()},
            "/v1/audio/voices": {"get": _voices()},
            "/v1/models": {"get": _read("listModels", "Names that the engine goes by.", "ModelList")},
            "/v1/models/{model}": {"get": _model()},
        }
        | ticket_document.paths(REF),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _speech() -> dict[str, Any]:
    sound = {form.content_type: {"schema": {"type": "string", "format": "binary"}} for form in FORMS.values()}
    events = {"text/event-stream": {"schema": _event()}}
    return {
        "operationId": "createSpeech",
        "summary": "Say a text.",
        "requestBody": {"required": True, "content": _json("SpeechRequest")},
        "responses": {
            "200": {
                "description": "The sound as it is spoken; or events, `AudioDelta` and at last `AudioDone`.",
                "headers": _headers(m.AnswerHeaders, m.SoundHeaders),
                "content": sound | events,
            }
        }
        | _faults(),
    }


def _event() -> dict[str, Any]:
    """One server-sent event, as tools that read streams take the schema of a stream: JSON in `data`."""
    kinds = [{"$ref": REF.format(name=name)} for name in ("AudioDelta", "AudioDone", "FaultAnswer")]
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"anyOf": kinds}}
    return {"type": "object", "properties": {"data": data}, "required": ["data"]}


def _voices() -> dict[str, Any]:
    made = _read("listVoices", "Voices that may be asked for.", "VoiceList")
    made["parameters"] = [
        {
            "name": "legacy", "in": "query", "required": False, "schema": {"type": "boolean"},
            "description": "Names alone.",
        }
    ]  # fmt: skip
    either = {"anyOf": [{"$ref": REF.format(name=name)} for name in ("VoiceList", "VoiceNames")]}
    made["responses"]["200"]["content"] = {"application/json": {"schema": either}}
    return made


def _model() -> dict[str, Any]:
    made = _read("retrieveModel", "One of the names.", "Model")
    made["parameters"] = [{"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}]
    made["responses"]["404"] = _fault("There is no such name.")
    return made


def _read(operation: str, summary: str, model: str) -> dict[str, Any]:
    words = "All of them." if model.endswith("List") else "It."
    answer = {"description": words, "headers": _headers(m.AnswerHeaders), "content": _json(model)}
    return {"operationId": operation, "summary": summary, "responses": {"200": answer} | _faults()}


def _faults() -> dict[str, Any]:
    return {status: _fault(words, *((m.LaterHeaders,) if status in LATER else ()))
            for status, words in FAULTS.items()}  # fmt: skip


def _fault(words: str, *more: type[msgspec.Struct]) -> dict[str, Any]:
    return {
        "description": words, "headers": _headers(m.AnswerHeaders, *more), "content": _json("FaultAnswer"),
    }  # fmt: skip


def _headers(*models: type[msgspec.Struct]) -> dict[str, Any]:
    """Headers of an answer, as OpenAPI has them, of the records that they are made of."""
    told = {}
    for model in models:
        schema = msgspec.json.schema(model)["$defs"][model.__name__]
        for name, value in schema["properties"].items():
            rest = {key: one for key, one in value.items() if key != "description"}
            told[name] = {
                "description": value["description"], "required": name in schema["required"], "schema": rest,
            }  # fmt: skip
    return told


def _json(model: str) -> Mapping[str, Any]:
    return {"application/json": {"schema": {"$ref": REF.format(name=model)}}}
