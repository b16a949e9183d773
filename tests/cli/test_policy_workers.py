"""A study on several processes is the study on one; a process that dies is told, and not waited for."""

import multiprocessing
import os
import signal

import pytest

from abr_tts.cli.failure import Failure
from abr_tts.cli.policy.networks import load
from abr_tts.cli.policy.workers import Speed, perform
from abr_tts.cli.progress import Bar
from abr_tts.control.policy_file import preset
from abr_tts.errors import ConfigError
from abr_tts.sim.run import World
from abr_tts.sim.study import Contender, Study, Task


def study_of(folder, baseline: str = "") -> Study:
    return Study((Contender("default", preset("default"), baseline),), load([folder]), World())


def test_results_are_equal_on_one_process_and_on_three(networks):
    study = study_of(networks)
    one, three = Speed(), Speed()
    alone = perform(study, 1, Bar("x"), one)
    assert perform(study, 3, Bar("x"), three).results == alone.results
    total = sum(result.seconds for result in alone.results.values())
    assert one.virtual_s == pytest.approx(total) and three.virtual_s == pytest.approx(total)
    assert three.cpu_s > 0 and three.wall_s > 0


def test_a_part_of_a_study_may_be_done(networks):
    outcome = perform(study_of(networks), 1, Bar("x"), tasks=[Task(0, 2, 0)])
    assert list(outcome.results) == [Task(0, 2, 0)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_of_a_task_is_the_fault_of_the_study(networks, jobs):
    with pytest.raises(ConfigError, match="no baseline 'nobody'"):
        perform(study_of(networks, "nobody"), jobs, Bar("x"))


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="the patch must reach the processes")
def test_a_process_that_is_killed_is_told(networks, monkeypatch):
    parent = os.getpid()

    def die(self, task):
        assert os.getpid() != parent
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Study, "perform", die)
    with pytest.raises(Failure, match="a process of the simulation was killed"):
        perform(study_of(networks), 2, Bar("x"))


def test_speed_is_told_in_virtual_seconds_for_a_second_of_one_core():
    assert Speed(7200.0, 14.4, 8.0).in_words(2) == (
        "simulated 2.0 h of sessions in 8.0 s on 2 processes; a core simulates 500 s of them in a second"
    )
    assert Speed().in_words(1) == "nothing was simulated"
