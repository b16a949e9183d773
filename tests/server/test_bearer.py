"""JSON Web Tokens as keys: real signatures of all three kinds, and what must not pass for one."""

import base64
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from abr_tts.errors import ConfigError
from abr_tts.server.access.auth import Auth
from abr_tts.server.config import AuthSettings

from .harness import peer, serving

SECRET = "0123456789abcdef0123456789abcdef"
RSA, EC = rsa.generate_private_key(65_537, 2048), ec.generate_private_key(ec.SECP256R1())
ISSUER, AUDIENCE = "https://id.example", "tts"


def pem(key) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def jwk(key, kid: str) -> dict:
    algorithm = jwt.algorithms.RSAAlgorithm if key is RSA else jwt.algorithms.ECAlgorithm
    return json.loads(algorithm.to_jwk(key.public_key())) | {"kid": kid}


def auth(tmp_path, text: str, **settings) -> Auth:
    path = tmp_path / "jwt"
    path.write_text(text)
    return Auth(AuthSettings(jwt_file=path, **settings))


def token(key, algorithm: str, headers=None, **claims) -> str:
    now = time.time()
    claims = {"sub": "anna", "exp": now + 60, "iss": ISSUER, "aud": AUDIENCE} | claims
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key, algorithm, headers=headers)


def name_of(made: Auth, given: str) -> str | None:
    headers = {"Authorization": f"Bearer {given}"}
    return made.caller(headers, "").key_name if made.allows_key(headers) else None


KINDS = {
    "HS256": (SECRET, SECRET),
    "RS256": (pem(RSA), RSA),
    "ES256": (pem(EC), EC),
}


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_signed_token_names_its_bearer(tmp_path, algorithm):
    public, private = KINDS[algorithm]
    made = auth(tmp_path, public + "\n")
    assert made.needs_key and made.key_names is None
    assert name_of(made, token(private, algorithm)) == "anna"
    assert name_of(made, token(private, algorithm)[:-4] + "AAAA") is None


def test_a_set_of_keys_is_told_apart_by_their_ids(tmp_path):
    made = auth(tmp_path, json.dumps({"keys": [jwk(RSA, "one"), jwk(EC, "two"), {"kty": "OKP"}]}))
    assert len(made.bearer) == 2
    assert name_of(made, token(RSA, "RS256", {"kid": "one"})) == "anna"
    assert name_of(made, token(EC, "ES256", {"kid": "two"})) == "anna"
    assert name_of(made, token(EC, "ES256")) == "anna"
    assert name_of(made, token(RSA, "RS256", {"kid": "two"})) is None


BOUND = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_leeway_s": 5.0}


@pytest.mark.parametrize(
    ("claims", "allowed"),
    [
        ({}, True),
        ({"aud": ["other", "tts"]}, True),
        ({"exp": None}, False),
        ({"sub": None}, False),
        ({"sub": ""}, False),
        ({"sub": "x" * 200}, True),
        ({"sub": "x" * 201}, False),
        ({"iss": "https://evil.example"}, False),
        ({"iss": None}, False),
        ({"aud": "other"}, False),
        ({"aud": None}, False),
    ],
)
def test_what_a_token_must_say(tmp_path, claims, allowed):
    made = auth(tmp_path, SECRET, **BOUND)
    assert (name_of(made, token(SECRET, "HS256", **claims)) is not None) is allowed


@pytest.mark.parametrize(
    ("claim", "off_s", "allowed"),
    [("exp", -3, True), ("exp", -8, False), ("nbf", 3, True), ("nbf", 8, False)],
)
def test_the_times_of_a_token_bind_within_the_slack_of_clocks(tmp_path, claim, off_s, allowed):
    made = auth(tmp_path, SECRET, **BOUND)
    given = token(SECRET, "HS256", **{claim: time.time() + off_s})
    assert (name_of(made, given) is not None) is allowed


def unsigned(claims: dict, algorithm: str) -> str:
    parts = [json.dumps({"alg": algorithm, "typ": "JWT"}), json.dumps(claims)]
    return ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts) + "."


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "RS256"])
def test_an_unsigned_token_is_nobodys(tmp_path, algorithm):
    made = auth(tmp_path, pem(RSA))
    assert name_of(made, unsigned({"sub": "anna", "exp": time.time() + 60}, algorithm)) is None


def test_a_public_key_is_never_taken_for_a_secret(tmp_path):
    """RFC 8725 section 3.1: whoever knows the public key could sign with it otherwise."""
    import hashlib
    import hmac

    made = auth(tmp_path, pem(RSA))
    body = unsigned({"sub": "anna", "exp": time.time() + 60}, "HS256").rstrip(".")
    mac = hmac.digest(pem(RSA).encode(), body.encode(), hashlib.sha256)
    assert name_of(made, body + "." + base64.urlsafe_b64encode(mac).decode().rstrip("=")) is None


@pytest.mark.parametrize("given", ["", "..", "a.b.c", "é.é.é", "x" * 9000, "a." * 5000])
def test_what_is_no_token_is_refused(tmp_path, given):
    assert name_of(auth(tmp_path, SECRET), given) is None


@pytest.mark.parametrize(
    "text", ["", "short", "x" * 31, "{}", '{"keys": []}', '{"keys": [{"kty": "RSA"}]}', "{", "-----BEGIN x"]
)
def test_a_file_without_a_key_is_refused_and_not_shown(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        auth(tmp_path, text)
    assert not text or len(text) < 5 or text not in str(caught.value)


def test_the_bearer_of_a_renewed_token_is_the_same_and_keys_go_on_working(tmp_path):
    made = auth(tmp_path, SECRET, keys=("bert:a-key",))
    headers = [{"Authorization": f"Bearer {token(SECRET, 'HS256', jti=name)}"} for name in "ab"]
    assert made.caller(headers[0], "x") == made.caller(headers[1], "x")
    assert name_of(made, "a-key") == "bert"


async def test_a_token_opens_a_connection_in_a_header_and_as_a_subprotocol(tmp_path):
    path = tmp_path / "jwt"
    path.write_text(pem(EC))
    given = token(EC, "ES256")
    async with serving(auth__jwt_file=str(path)) as server:
        async with peer(server.url, headers={"Authorization": f"Bearer {given}"}) as client:
            await client.start("hello", rung="pcm22")
        async with peer(server.url, protocols=("abr-tts.v1", f"abr-tts.key.{given}")) as client:
            await client.start("hello", rung="pcm22")


def test_a_token_of_other_than_ascii_letters_is_none(tmp_path):
    assert name_of(auth(tmp_path, SECRET), "\udcff.a.b") is None


@pytest.mark.parametrize(
    "claims", [{"exp": 10**400}, {"sub": "\ud800"}], ids=["beyond all time", "half a letter"]
)
def test_a_signed_claim_that_is_no_number_and_no_name_is_none(tmp_path, claims):
    made = auth(tmp_path, SECRET)
    body = {"sub": "anna", "exp": time.time() + 60, "iss": ISSUER, "aud": AUDIENCE} | claims
    given = jwt.api_jws.PyJWS().encode(json.dumps(body).encode(), SECRET, "HS256")
    assert name_of(made, given) is None
