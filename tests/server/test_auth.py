import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.auth import Auth
from abr_tts.server.config import AuthSettings

KEYS = AuthSettings(keys=("first-key", "second-key"))


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_without_keys_everybody_may():
    assert Auth(AuthSettings()).allows_key({})
    assert not Auth(AuthSettings()).needs_key


@pytest.mark.parametrize("key", ["first-key", "second-key"])
def test_each_of_several_keys_opens(key):
    assert Auth(KEYS).allows_key(bearer(key))
    assert Auth(KEYS).allows_key({"authorization".title(): f"bearer {key}"})


@pytest.mark.parametrize("headers", [{}, bearer(""), bearer("first-ke"), bearer("first-key2"), bearer("é"),
                                     {"Authorization": "Basic first-key"}])  # fmt: skip
def test_no_key_a_part_of_one_and_a_foreign_one_are_refused(headers):
    assert not Auth(KEYS).allows_key(headers)


def test_a_browser_may_offer_its_key_as_a_subprotocol():
    offered = {"Sec-WebSocket-Protocol": "abr-tts.v1, abr-tts.key.second-key"}
    assert Auth(KEYS).allows_key(offered)
    assert not Auth(KEYS).allows_key({"Sec-WebSocket-Protocol": "abr-tts.v1, abr-tts.key.third"})


def test_a_file_holds_one_key_a_line_with_comments(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# ours\nalpha  # of Anna\n\nbeta\n")
    auth = Auth(AuthSettings(keys_file=path))
    assert auth.allows_key(bearer("alpha")) and auth.allows_key(bearer("beta"))
    assert not auth.allows_key(bearer("gamma"))


def test_a_file_without_keys_and_one_that_is_not_there_are_refused(tmp_path):
    path = tmp_path / "keys"
    with pytest.raises(ConfigError, match=r"auth\.keys_file: cannot read .*No such file"):
        Auth(AuthSettings(keys_file=path))
    path.write_text("# none yet\n")
    with pytest.raises(ConfigError, match="no API key in it"):
        Auth(AuthSettings(keys_file=path))


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown():
    with pytest.raises(ConfigError, match="key 2") as caught:
        Auth(AuthSettings(keys=("fine", "two words")))
    assert "words" not in str(caught.value)


@pytest.mark.parametrize(
    ("origin", "host", "listed", "allowed"),
    [
        (None, "localhost:8765", (), True),
        ("http://localhost:8765", "localhost:8765", (), True),
        ("https://evil.example", "localhost:8765", (), False),
        ("http://localhost:9999", "localhost:8765", (), False),
        ("null", "localhost:8765", (), False),
        ("https://app.example", "tts.example", ("https://app.example/",), True),
        ("https://APP.example", "tts.example", ("https://app.example",), True),
        ("http://app.example", "tts.example", ("https://app.example",), False),
        ("https://any.example", "tts.example", ("*",), True),
    ],
)
def test_only_the_servers_own_pages_and_listed_ones_may_connect(origin, host, listed, allowed):
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    assert Auth(AuthSettings(origins=listed)).allows_origin(headers) is allowed
