"""One local cluster for all these tests: it takes seconds to start."""

import importlib

import pytest


@pytest.fixture(scope="session")
def cluster():
    """A cluster whose machines are processes of this one; this process has joined it."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = importlib.import_module("ray")
    made = importlib.import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 8, "include_dashboard": False}
    )
    ray.init(address=made.address, log_to_driver=False, configure_logging=False)
    yield made
    ray.shutdown()
    made.shutdown()
    patch.undo()
