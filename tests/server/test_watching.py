"""What operators watch: the page of metrics, the dashboard and the alerts say what a real server tells."""

import importlib.util
import json
import re
from itertools import combinations
from pathlib import Path

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from abr_tts.wire import messages as m

from .harness import peer, serving

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "tools" / "deploy"
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.+) \|$", re.M)
OF_PROMETHEUS = {"up": {"job", "instance"}}
"""Series that Prometheus itself adds; and of each series it adds these two labels."""


def module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def table() -> dict[str, tuple[str, set[str]]]:
    """Metric → its type and labels, as the page has them."""
    rows = ROW.findall((ROOT / "docs" / "metrics.md").read_text("utf-8"))
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels, _ in rows}


def series() -> dict[str, set[str]]:
    """Name of every series that a query may ask for → its labels."""
    found = dict(OF_PROMETHEUS)
    for name, (kind, labels) in table().items():
        labels = labels | {"job", "instance"}
        if kind == "histogram":
            found |= {f"{name}_sum": labels, f"{name}_count": labels, f"{name}_bucket": labels | {"le"}}
        else:
            found[name] = labels
    return found


# The page


def test_the_page_of_metrics_is_what_the_code_declares():
    reference = module(ROOT / "tools" / "metrics_reference.py").reference()
    assert (ROOT / "docs" / "metrics.md").read_text("utf-8") == reference


async def test_a_server_that_has_spoken_tells_the_metrics_of_the_page_with_their_types_and_labels():
    async with serving() as server, peer(server.url) as client:
        started = await client.start("one two three four five six seven eight. " * 4)
        await client.first(m.Switch, stream=started.stream)
        await client.first(m.StreamEnd, stream=started.stream)
        cancelled = await client.start("x" * 50)
        await client.send(m.Cancel(cancelled.stream))
        await client.refused("x", voice="nobody")
        told = server.metrics.text().decode()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", told, re.M))
    kinds = {name: kind for name, kind in kinds.items() if not name.endswith("_created")}
    page = table()
    assert kinds == {name: kind for name, (kind, _) in page.items()}
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(told):
        name = family.name + ("_total" if family.type == "counter" else "")
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                labels.setdefault(name, set()).update(set(sample.labels) - {"le"})
    assert {name: page[name][1] for name in labels} == labels
    said = {name for name in labels if name.startswith("abr_tts_")}
    assert len(said) > 45, "most of them have something to tell of it"


def test_a_clause_is_counted_with_how_long_it_waited_and_how_fast_it_was_spoken():
    from abr_tts.server.watching.metrics import Metrics

    class Asked:
        given_at = 10.5

    class Heard:
        def __init__(self):
            self.calls = []

        def pcm(self, samples):
            self.calls.append(len(samples))

        def end(self):
            self.calls.append("end")

    class Loop:
        now = 10.0

        def time(self):
            return self.now

    metrics, heard, loop = Metrics(), Heard(), Loop()
    sink = metrics.engine.timed(heard, True, 1000, loop)
    sink.asked = Asked()
    sink.pcm([0] * 1500)
    loop.now = 11.0
    sink.pcm([0] * 500)
    sink.end()
    assert heard.calls == [1500, 500, "end"]
    value = metrics.registry.get_sample_value
    assert value("abr_tts_engine_queue_seconds_sum", {"clause": "first"}) == 0.5
    assert value("abr_tts_engine_queue_seconds_count", {"clause": "later"}) == 0
    assert value("abr_tts_engine_real_time_factor_sum") == 0.25
    assert (value("abr_tts_engine_busy_seconds_total"), value("abr_tts_engine_audio_seconds_total")) == (
        0.5,
        2,
    )


# Queries


def selectors(query: str) -> list[tuple[str, set[str]]]:
    """(series, labels that it is chosen by) of a query; a fault of its syntax is an error here."""
    found = []

    def visit(node):
        if isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, {one.name for one in node.matchers.matchers}))
        return True

    promql_parser.walk(promql_parser.parse(query), visit)
    return found


def complaints(query: str) -> list[str]:
    """What a query asks for that no server tells."""
    known = series()
    found = [name for name, _ in selectors(query) if name not in known]
    asked = [(name, labels) for name, labels in selectors(query) if name in known]
    found += [f"{name} by {label}" for name, labels in asked for label in labels - known[name]]
    every = set().union(*(known[name] for name, _ in asked))
    grouped = {label.strip() for some in re.findall(r"\bby \(([^)]+)\)", query) for label in some.split(",")}
    return found + [f"by {label}" for label in sorted(grouped - every)]


def queries_of_the_dashboard() -> list[str]:
    board = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    exprs = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    return [expr.replace("$__rate_interval", "5m") for expr in exprs]


def rules() -> list[dict]:
    groups = YAML(typ="safe").load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_a_query_for_what_no_server_tells_is_found():
    assert complaints("rate(abr_tts_stalls_total[5m]) / sum by (job) (abr_tts_connections)") == []
    assert complaints("rate(abr_tts_stalls[5m])") == ["abr_tts_stalls"]
    assert complaints('abr_tts_connections{rung="x"}') == ["abr_tts_connections by rung"]
    assert complaints("sum by (rung) (abr_tts_connections)") == ["by rung"]
    with pytest.raises(ValueError, match="unclosed"):
        selectors("rate(abr_tts_stalls_total[5m]")


def test_every_query_of_the_dashboard_and_the_alerts_asks_for_what_a_server_tells():
    queries = [*queries_of_the_dashboard(), *(rule["expr"] for rule in rules())]
    assert len(queries) > 50
    assert {query: found for query in queries if (found := complaints(query))} == {}


def test_the_dashboard_is_what_its_program_prints_and_no_panel_lies_on_another():
    board = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    assert board == module(DEPLOY / "dashboard.py").dashboard()
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in places
    ]
    assert all(one.isdisjoint(other) for one, other in combinations(cells, 2))
    assert all(at["x"] + at["w"] <= 24 for at in places)
    assert len({panel["id"] for panel in board["panels"]}) == len(places)


def test_the_dashboard_shows_what_the_server_promises_to_tell():
    asked = {name for query in queries_of_the_dashboard() for name, _ in selectors(query)}
    for name in (
        "sent_audio_seconds_total", "played_audio_seconds_total", "switches_total", "stalls_total",
        "stalled_seconds_total", "bank_seconds_bucket", "stream_outstanding_bytes_bucket",
        "first_sound_raw_seconds_bucket", "first_sound_delivered_seconds_bucket", "resumes_total",
        "engine_queue_seconds_bucket", "engine_real_time_factor_bucket", "engine_workers_busy",
        "cancel_seconds_bucket", "limits_hit_total", "build_info", "policy_info",
        "event_loop_lag_seconds_bucket", "streams", "engine_freed_seconds_bucket", "streams_eased_total",
    ):  # fmt: skip
        assert f"abr_tts_{name}" in asked, name


def test_every_alert_says_how_grave_it_is_what_is_the_matter_and_what_to_do():
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names)) > 10
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "warn"), rule["alert"]
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
