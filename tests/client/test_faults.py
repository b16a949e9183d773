"""Errors of the wire become the exceptions they were."""

import pytest

from abr_tts import errors
from abr_tts.client.faults import CLASSES, from_wire
from abr_tts.wire.messages import Error


@pytest.mark.parametrize("code", sorted(CLASSES))
def test_every_code_comes_back_as_its_class(code: str) -> None:
    cls = CLASSES[code]
    fault = from_wire(
        Error(code, "A sentence.", cls.scope, retry_after=2.5, detail={"limit": 5, "message": "x"})
    )
    assert type(fault) is cls
    assert (str(fault), fault.code, fault.retry_after) == ("A sentence.", code, 2.5)
    assert fault.detail == {"limit": 5, "message": "x"}


@pytest.mark.parametrize(
    ("scope", "root"),
    [
        (errors.CONNECTION, errors.ConnectionFault),
        (errors.STREAM, errors.StreamError),
        (errors.NOTHING, errors.Notice),
        ("galaxy", errors.StreamError),
    ],
)
def test_a_code_of_the_future_is_the_root_of_its_scope_and_keeps_its_name(scope: str, root: type) -> None:
    fault = from_wire(Error("out_of_luck", "No luck.", scope, detail={"limit": 1}))
    assert type(fault) is root
    assert fault.detail == {"limit": 1, "code": "out_of_luck"}
