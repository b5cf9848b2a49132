"""Charts: everything is drawn at the right place, all text is escaped, nothing is styled, everything has a name."""

import xml.etree.ElementTree as ET

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from reviews.core import charts
from reviews.core.charts.svg import cut, steps_to, text_width, wrapped

SVG = "{http://www.w3.org/2000/svg}"
SHARE = st.floats(0, 1) | st.none()


def parsed(chart: charts.Drawing) -> ET.Element:
    svg = render_to_string("reviews/statistics/chart.html", {"chart": chart})
    return ET.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))  # noqa: S314 - ours


def curve(*marks: charts.Mark, name: str = "x") -> ET.Element:
    points = [f"Stage {place}" for place in range(len(marks))]
    line = charts.Line("All", marks)
    return parsed(charts.curve(name, points=points, lines=[line], title="A title", description="What it shows"))


def test_a_chart_has_a_name_a_description_and_no_style() -> None:
    drawn = curve(charts.Mark(0.5, 0.4, 0.6, "50 %"))
    assert drawn.get("role") == "img"
    title, description = drawn.find(f"{SVG}title"), drawn.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert drawn.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert (title.text, description.text) == ("A title", "What it shows")
    assert all(not {"style", "fill", "stroke", "onclick"} & set(one.keys()) for one in drawn.iter())


def test_a_share_stands_at_its_height() -> None:
    drawn = curve(charts.Mark(0.0), charts.Mark(0.5), charts.Mark(1.0))
    ys = [float(one.get("cy", "")) for one in drawn.iter(f"{SVG}circle")]
    # 220 units from 0 to 100 %.
    assert ys[0] - ys[1] == pytest.approx(110)
    assert ys[1] - ys[2] == pytest.approx(110)


def test_an_interval_is_drawn_to_its_ends() -> None:
    row = charts.Interval("Kappa", 0.5, 0.25, 0.75, "0.50")
    drawn = parsed(charts.interval_rows("k", rows=[row], title="t", description="d"))
    reach = [one for one in drawn.iter(f"{SVG}line") if "chart-reach" in one.get("class", "")]
    assert [(one.get("x1"), one.get("x2")) for one in reach] == [("25%", "75%"), ("25%", "25%"), ("75%", "75%")]


def test_an_undefined_figure_says_so_and_draws_nothing() -> None:
    row = charts.Interval("Kappa", None, None, None, "undefined")
    drawn = parsed(charts.interval_rows("k", rows=[row], title="t", description="d"))
    assert not list(drawn.iter(f"{SVG}circle"))
    assert "undefined" in [one.text for one in drawn.iter(f"{SVG}text")]


def test_an_axis_reaches_down_where_a_figure_does() -> None:
    row = charts.Interval("Kappa", -0.1, -0.3, 0.1, "−0.10")
    drawn = parsed(charts.interval_rows("k", rows=[row], title="t", description="d"))
    assert "−1" in [one.text for one in drawn.iter(f"{SVG}text")]


def test_bars_are_as_long_as_their_counts() -> None:
    rows = [charts.Bar("One", 10), charts.Bar("Two", 5)]
    drawn = parsed(charts.row_bars("b", rows=rows, title="t", description="d"))
    bars = [one.get("width") for one in drawn.iter(f"{SVG}rect") if one.get("class") == "chart-bar series-1"]
    assert bars == ["100%", "50%"]


def test_panels_share_one_scale() -> None:
    panels = [charts.Panel("One", [4, 0, 8]), charts.Panel("Two", [2, 0, 0])]
    drawn = parsed(charts.bar_panels("p", times=["1", "2", "3"], panels=panels, title="t", description="d"))
    heights = [float(one.get("height", "")) for one in drawn.iter(f"{SVG}rect")]
    assert [height / heights[2] for height in heights] == [2, 4, 1]


def test_quartiles_are_drawn_in_their_unit() -> None:
    rows = [charts.Span("Expert", 2, 4, 6, "4 min")]
    drawn = parsed(charts.span_rows("s", rows=rows, unit="min", title="t", description="d"))
    [bar] = list(drawn.iter(f"{SVG}rect"))
    [middle] = [one for one in drawn.iter(f"{SVG}line") if one.get("class") == "chart-middle"]
    x, width, stroke = (
        float(one.rstrip("%")) for one in (bar.get("x", ""), bar.get("width", ""), middle.get("x1", ""))
    )
    assert x + width / 2 == pytest.approx(stroke, abs=0.02)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=60), SHARE)
def test_any_text_is_drawn_as_text(words: str, value: float | None) -> None:
    row = charts.Interval(words, value, None, None, words)
    drawn = parsed(charts.interval_rows("x", rows=[row], title=words, description=words))
    title = drawn.find(f"{SVG}title")
    assert title is not None
    assert (title.text or "") == words
    parsed(charts.row_bars("x", rows=[charts.Bar(words, 3)], title=words, description=words))


@given(st.floats(0, 1e6))
def test_an_axis_covers_what_it_must_in_few_round_steps(largest: float) -> None:
    steps = steps_to(largest)
    assert steps[0] == 0
    assert steps[-1] >= largest
    assert 2 <= len(steps) <= 8
    assert all(step == int(step) for step in steps)


def test_long_names_are_broken_and_cut() -> None:
    assert wrapped("Self-check, single round", 90) == ["Self-check,", "single round"]
    assert len(wrapped("one two three four five six seven eight", 30, 2)) == 2
    assert cut("Verschlimmbesserungsvorschlag", 60).endswith("…")
    assert text_width("天气") > text_width("ab")
