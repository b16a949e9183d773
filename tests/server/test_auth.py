import pytest

from abr_tts.errors import ConfigError
from abr_tts.server.access.auth import Auth, Caller
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


# ---- names


NAMED = AuthSettings(keys=("anna:first-key", "second-key", "anna:third-key"))


@pytest.mark.parametrize(("key", "name"), [("first-key", "anna"), ("second-key", ""), ("third-key", "anna")])
def test_a_key_may_have_a_name_which_is_not_part_of_it(key, name):
    auth = Auth(NAMED)
    assert auth.allows_key(bearer(key)) and not auth.allows_key(bearer(f"anna:{key}"))
    assert auth.caller(bearer(key), "192.0.2.7").key_name == name
    assert auth.key_names == {"anna"}


def test_a_caller_is_told_apart_by_key_and_the_key_itself_is_not_kept():
    auth = Auth(NAMED)
    one, other = auth.caller(bearer("first-key"), "a"), auth.caller(bearer("third-key"), "a")
    assert one != other and one == auth.caller(bearer("first-key"), "a")
    assert "first-key" not in repr(one)
    assert Auth(AuthSettings()).caller(bearer("first-key"), "a") == Caller("a")


def test_a_file_may_name_its_keys(tmp_path):
    path = tmp_path / "keys"
    path.write_text("anna: alpha  # since May\nbeta\n")
    auth = Auth(AuthSettings(keys_file=path))
    assert auth.allows_key(bearer("alpha")) and auth.allows_key(bearer("beta"))
    assert auth.caller(bearer("alpha"), "").key_name == "anna"


@pytest.mark.parametrize("entry", ["anna:", ":", "anna:two words", "anna:a:b"])
def test_a_named_key_obeys_the_rules_of_keys(entry):
    with pytest.raises(ConfigError, match="auth: key 1 has other characters"):
        Auth(AuthSettings(keys=(entry,)))


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://evil\u2100.example"])
def test_what_is_no_origin_may_not_connect(origin):
    assert not Auth(AuthSettings()).allows_origin({"Origin": origin, "Host": "127.0.0.1"})
