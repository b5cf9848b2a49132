"""docs/asvs.md covers each requirement of ASVS 5.0.0, level 2, once, and names tests that exist."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "asvs.md").read_text()
#: Section → how many requirements of levels 1 and 2 it has; they are numbered from 1 on.
SECTIONS = {
    **{"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1},
    **{"3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4},
    **{"5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4},
    **{"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1},
    **{"9.1": 3, "9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3},
    **{"11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2, "12.3": 4},
    **{"13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3, "15.1": 3, "15.2": 3, "15.3": 7},
    **{"16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3, "17.1": 1, "17.2": 4, "17.3": 2},
}


def rows() -> Iterator[tuple[list[str], str, str]]:
    """Numbers, status and evidence of each line of the tables."""
    for line in PAGE.splitlines():
        if re.match(r"\| \d", line):
            numbers, _what, status, evidence = (cell.strip() for cell in line.strip("|").split("|"))
            yield [one for part in numbers.split(", ") for one in expanded(part)], status, evidence


def expanded(part: str) -> list[str]:
    """``1.2.6–1.2.8`` is three numbers."""
    first, _, last = part.partition("–")
    if not last:
        return [first]
    section, _, begin = first.rpartition(".")
    assert last.startswith(f"{section}.")
    return [f"{section}.{number}" for number in range(int(begin), int(last.rpartition(".")[2]) + 1)]


def test_every_requirement_is_covered_once():
    covered = Counter(number for numbers, _, _ in rows() for number in numbers)
    wanted = {f"{section}.{number + 1}" for section, count in SECTIONS.items() for number in range(count)}
    assert len(wanted) == 253
    assert set(covered) == wanted
    assert [number for number, times in covered.items() if times > 1] == []


def test_every_line_has_a_status_and_a_reason_and_they_are_counted():
    counted: Counter[str] = Counter()
    for numbers, status, evidence in rows():
        counted[status] += len(numbers)
        assert evidence, numbers
    assert set(counted) == {"met", "not met", "n/a"}
    met, missing, not_applicable = counted["met"], counted["not met"], counted["n/a"]
    assert f"Of 253, {met} are met, {not_applicable} are not applicable and {missing} are not met." in PAGE


def test_every_named_test_exists():
    files: dict[str, str] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        files[path.name] = files.get(path.name, "") + path.read_text()
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", PAGE)
    assert named
    assert [(file, name) for file, name in named if f"def {name or 'test_'}" not in files.get(file, "")] == []


def test_every_link_leads_to_a_file():
    links = set(re.findall(r"\]\((?!https:)([^)#]+)", PAGE))
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
