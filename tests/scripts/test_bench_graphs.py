"""The table of tool graphs that ``make bench`` prints."""

from annotator.core.graph import Graph
from scripts.bench_graphs import Row, counted, graph_table


def test_times_ratios_and_whether_budgets_were_kept() -> None:
    lines = graph_table(
        [
            Row("count: a", "47,293", 0.00005, enumerated=0.25, budget_ms=1),
            Row("count: b", "more than 5", 0.5, budget_ms=50),
            Row("count: c", "more than 5", 0.5, exact=False),
            Row("match: d", "", 0.0002, budget_ms=1),
        ]
    )
    assert [line.split()[2:] for line in lines[2:]] == [
        ["47,293", "0.050", "ms", "250.0", "ms", "5,000x", "≤", "1", "ms", "kept"],
        ["more", "than", "5", "500.000", "ms", ">", "2", "s", "≤", "50", "ms", "MISSED"],
        ["more", "than", "5", "500.000", "ms", ">", "2", "s", "exact", "MISSED"],
        ["0.200", "ms", "≤", "1", "ms", "kept"],
    ]


def test_a_graph_is_counted_and_listed() -> None:
    row = counted("count: two", Graph(("a", "b"), (0, 0)), 1)
    assert (row.result, row.exact) == ("3", True)
    assert row.enumerated is not None
