"""The space of tasks of a run, by hand."""

from django.urls import reverse

from annotator.core.coverage import every_sequence
from benchmark.core.scoring.space import space_of
from benchmark.models import Run
from benchmark.views.space_view import heat_map, pyramid, sequence_rows

CHAT, SINGLE, MULTI = "chat", "single_tool", "multi_tool"
ENTRIES = [
    ((SINGLE,), "explicit", True),
    ((SINGLE,), "explicit", False),
    ((SINGLE, CHAT), "coreferential_reference", True),
    ((MULTI, None), None, True),
    ((None, CHAT), None, False),
    ((SINGLE, CHAT, SINGLE, MULTI, CHAT), None, False),
]


def test_entries_are_counted_by_policy_place_and_information_and_by_sequence():
    space = space_of(ENTRIES)
    assert space == {
        "tasks": {
            "chat|2|": [0, 1], "chat|2|coreferential_reference": [1, 1], "chat|5|": [0, 1],
            "single_tool|1|explicit": [1, 2],
        },
        "sequences": {"single_tool": [1, 2], "single_tool|chat": [1, 1]},
    }  # fmt: skip
    assert [len(every_sequence(length)) for length in (1, 2, 3, 4)] == [4, 16, 64, 256]


def test_the_heat_map_and_the_pyramid_show_the_same_counts():
    space = space_of(ENTRIES)
    places, rows = heat_map(space)
    assert places == [1, 2, 5]
    assert rows[0] == ("Chat", "", [("", ""), ("0/1", "heat-0"), ("0/1", "heat-0")])
    assert rows[-1] == ("Single-tool", "Explicit", [("1/2", "heat-3"), ("", ""), ("", "")])
    blocks, height, seen = pyramid(space)
    assert (len(blocks), seen) == (340, 2)
    assert max(block.y for block in blocks) + 34 == height
    shown = [block for block in blocks if block.css != "absent"]
    assert [block.css for block in shown] == ["heat-3", "heat-5"]
    assert shown[1].words == "Single-tool → Chat: 1/1"
    assert sequence_rows(space) == [("Single-tool", 1, 2), ("Single-tool → Chat", 1, 1)]


def test_a_run_shows_its_space(team, release, predictions_of, score, client):
    score(predictions_of("m", wrong=("weather-1",)))
    page = client.get(reverse("run", args=[team.project.slug, Run.objects.get().public_id])).content.decode()
    assert "Sequences of policies" in page
    assert "2/3" in page
