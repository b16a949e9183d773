"""[engine.cluster] is checked before anything starts, and Ray stays out of whoever has not chosen it."""

import subprocess
import sys

import pytest

from abr_tts.engine.build import RAY, pool_for
from abr_tts.engine.ray import cluster
from abr_tts.engine.ray.cluster import Connection, read
from abr_tts.engine.spec import EngineSpec, Limits
from abr_tts.errors import ConfigError, MissingDependency


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"adress": "auto"}, "do you mean address"),
        ({"address": "ray://head:10001"}, "cannot stream"),
        ({"workers_max": 1}, "fewer than engine.workers"),
        ({"workers_max": 2.5}, "a whole number"),
        ({"num_cpus": -1}, "a number from 0"),
        ({"num_gpus": True}, "a number"),
        ({"runtime_env": []}, "a table"),
        ({"address": 7}, "a text"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(table, words):
    with pytest.raises(ConfigError, match=words):
        read(table, 2)


def test_the_bounds_are_the_workers_and_the_most():
    assert read({}, 3).bounds(3).most == 3 and read({"workers_max": 3}, 3).bounds(3).most == 3
    bounds = read({"workers_max": 9, "queue_s": 2, "idle_s": 30}, 3).bounds(3)
    assert (bounds.least, bounds.most, bounds.queue_s, bounds.idle_s) == (3, 9, 2, 30)


def test_devices_of_one_machine_are_refused():
    with pytest.raises(ConfigError, match="num_gpus"):
        Connection(read({}, 1), EngineSpec("tone", devices=("0",)), 1)


def test_the_package_goes_to_other_machines_unless_the_operator_brings_it():
    def environment(**table):
        spec = EngineSpec("tone", python="/opt/env/bin/python")
        return Connection(read(table, 1), spec, 1)._environment()

    assert environment() == {"py_executable": "/opt/env/bin/python"}, "here it is installed"
    assert environment(address="auto")["py_modules"] == [str(cluster.PACKAGE)]
    for own in ({"pip": ["abr-tts"]}, {"working_dir": "."}, {"py_modules": ["x"]}):
        assert environment(address="auto", runtime_env=own).items() >= own.items()
        assert ("py_modules" in environment(address="auto", runtime_env=own)) == ("py_modules" in own)


def test_without_ray_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install '\.\[ray\]'"):
        pool_for(EngineSpec("tone"), 1, Limits(), pool=RAY)


def test_neither_ray_nor_grpc_is_imported_by_a_server_that_has_not_chosen_them():
    code = (
        "import sys, abr_tts.server.app, abr_tts.engine.ray, abr_tts.engine.remote.openai\n"
        "print(sorted({'ray', 'grpc', 'tritonclient'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
