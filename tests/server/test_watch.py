"""A policy file is seen for what it says, and taken when it has stopped changing."""

import os

import pytest

from abr_tts.server.rollout.watch import MOST_BYTES, SETTLE_S, Settling, Sight, look


def test_a_file_is_read_through_whatever_links_lead_to_it(tmp_path):
    mount = ConfigMap(tmp_path, "first")
    assert look(mount.file) == Sight("first")
    mount.swap("second")
    assert look(mount.file) == Sight("second")


def test_a_file_of_the_longest_length_is_read_and_one_byte_more_is_not(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("#" * MOST_BYTES)
    assert look(path).text == "#" * MOST_BYTES
    path.write_text("#" * (MOST_BYTES + 1))
    assert look(path) == Sight(None, f"is longer than {MOST_BYTES} bytes")


def test_what_is_no_file_is_told_and_a_pipe_without_a_writer_holds_nobody_up(tmp_path):
    assert look(tmp_path / "none") == Sight(None, "there is no such policy file", missing=True)
    assert look(tmp_path).fault == "cannot be read (Is a directory)"
    os.mkfifo(tmp_path / "pipe")
    assert look(tmp_path / "pipe").fault == "cannot be read (it is no regular file)"
    (tmp_path / "latin").write_bytes(b"# tea\n# caf\xe9")
    assert look(tmp_path / "latin").fault == "line 2 is not UTF-8"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert not look(tmp_path / "loop").missing


OLD, NEW, HALF = Sight("old"), Sight("new"), Sight("ne")


def test_a_new_text_is_taken_once_when_it_has_stayed_the_same_long_enough():
    settling = Settling(OLD)
    assert not settling.see(OLD, 10.0) and not settling.unsettled
    assert not settling.see(NEW, 20.0) and settling.unsettled
    assert not settling.see(NEW, 20.0 + SETTLE_S - 0.01)
    assert settling.see(NEW, 20.0 + SETTLE_S)
    assert not settling.see(NEW, 30.0) and not settling.unsettled


def test_a_file_that_is_still_being_written_is_waited_for():
    settling = Settling(OLD)
    assert not settling.see(HALF, 0.0)
    assert not settling.see(NEW, SETTLE_S), "it has changed again, so the time starts anew"
    assert not settling.see(NEW, 2 * SETTLE_S - 0.01)
    assert settling.see(NEW, 2 * SETTLE_S)


def test_a_file_that_is_gone_for_a_moment_while_it_is_replaced_is_no_news():
    settling = Settling(OLD)
    assert not settling.see(Sight(None, "gone", missing=True), 0.0)
    assert not settling.see(OLD, SETTLE_S) and not settling.unsettled


@pytest.mark.parametrize(("sight", "taken"), [(OLD, False), (NEW, True)])
def test_whoever_asks_does_not_wait_and_gets_only_what_is_new(sight, taken):
    assert Settling(OLD).see(sight, 0.0, at_once=True) is taken


class ConfigMap:
    """A folder as Kubernetes mounts a ConfigMap: p.toml → ..data/p.toml, ..data → ..1, swapped by rename."""

    def __init__(self, folder, text: str) -> None:
        self._folder, self._count = folder, 0
        self.swap(text)
        self.file = folder / "p.toml"
        self.file.symlink_to(os.path.join("..data", "p.toml"))

    def swap(self, text: str) -> None:
        self._count += 1
        version = self._folder / f"..{self._count}"
        version.mkdir()
        (version / "p.toml").write_text(text)
        (self._folder / "..data_tmp").symlink_to(version.name)
        (self._folder / "..data_tmp").rename(self._folder / "..data")
