"""A server's complaint reaches people as one sentence, without secrets, and says what may be done."""

import json

import pytest

from abr_tts.engine.remote.failures import LONGEST, LONGEST_REST_S, refused, seconds_of, spoken, tidy


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "the model is loading", "code": 3}}, "the model is loading"),
        ({"error": "out of memory"}, "out of memory"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": {"error": "bad_voice", "message": "no voice x"}}, "bad_voice"),
        (
            {"detail": [{"loc": ["body", "tts_text"], "msg": "field required"}]},
            "body.tts_text: field required",
        ),
        ({"message": "two\nlines\tand\x07 a bell"}, "two lines and a bell"),
        ({"code": 17}, ""),
        ([], ""),
    ],
)
def test_the_sentence_is_found_in_the_forms_that_servers_use(body, words):
    assert spoken(json.dumps(body).encode(), "application/json") == words


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"upstream timed out\nat line 3", "text/plain", "upstream timed out"),
        (b"<html><body>nginx</body></html>", "text/html", ""),
        (b"<html>", "", ""),
        (b"\xff\xfe\x00\x01", "", ""),
        (b"{broken", "application/json", ""),
        (b"", "", ""),
    ],
)
def test_plain_text_is_quoted_and_pages_and_rubbish_are_not(body, kind, words):
    assert spoken(body, kind) == words


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdef123456",
        "bad header: Authorization: Bearer abcdef123456",
        "api_key=abcdef123456 is unknown",
        '{"token": "abcdef123456"}',
        "my own secret abcdef123456 in the middle",
    ],
)
def test_no_secret_is_repeated(text):
    assert "abcdef123456" not in tidy(text, "abcdef123456") and "***" in tidy(text, "abcdef123456")
    if "own" not in text:
        assert "abcdef123456" not in tidy(text), "not even one that is not ours"


def test_a_long_complaint_is_cut_at_the_limit():
    assert tidy("x" * LONGEST) == "x" * LONGEST
    assert len(tidy("x" * (LONGEST + 1))) == LONGEST and tidy("x" * (LONGEST + 1)).endswith("…")


NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:00 GMT", 0.0),
        ("300", LONGEST_REST_S),
        ("301", LONGEST_REST_S),
        ("soon", 0.0),
        ("-5", 0.0),
        ("", 0.0),
    ],
)
def test_retry_after_is_read_in_both_forms_and_bounded(header, seconds):
    assert seconds_of(header, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "retry", "hurt"),
    [
        *[(400, False, False), (401, False, False), (404, False, False), (408, True, False)],
        *[(429, True, False), (500, True, True), (502, True, True), (503, True, True)],
        *[(501, False, True), (307, False, False)],
    ],
)
def test_what_may_be_tried_again_and_what_counts_against_the_server(status, retry, hurt):
    failed = refused(status, "", b"", "", NOW)
    assert (failed.retry, failed.hurt) == (retry, hurt) and f"HTTP {status}" in failed.error.message
