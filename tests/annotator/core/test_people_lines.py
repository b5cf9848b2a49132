"""Pasted lines that name people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.people_lines import MAX_LINE, read_people
from annotator.core.roles import Role


def one(text):
    [line] = read_people(text).lines
    return line


@pytest.mark.parametrize(
    ("text", "name", "address", "roles"),
    [
        ("amina@example.org", "", "amina@example.org", ()),
        ("Amina Diallo <amina@example.org>", "Amina Diallo", "amina@example.org", ()),
        ('"Diallo, Amina" <amina@example.org>, annotator', "Diallo, Amina", "amina@example.org", (Role.ANNOTATOR,)),
        ("Amina Diallo, amina@example.org", "Amina Diallo", "amina@example.org", ()),
        ('"Diallo, Amina",amina@example.org', "Diallo, Amina", "amina@example.org", ()),
        ("李雷; lilei@example.org; Senior reviewer", "李雷", "lilei@example.org", (Role.SENIOR_REVIEWER,)),
        (
            "Amina\tamina@example.org\tannotator/administrator",
            "Amina", "amina@example.org", (Role.ANNOTATOR, Role.ADMINISTRATOR),
        ),
    ],
)  # fmt: skip
def test_a_line_may_be_written_in_several_ways(text, name, address, roles):
    line = one(text)
    assert (line.name, line.address, line.roles, line.problem) == (name, address, roles, None)


def test_a_header_names_the_columns_in_any_order():
    read = read_people("\ufeffE-mail,Team,Full name,Role\n\na@example.org,red,Ada,administrator\nb@example.org\n")
    assert read.header == "E-mail,Team,Full name,Role"
    assert [(line.number, line.label, line.roles) for line in read.lines] == [
        (3, "Ada <a@example.org>", (Role.ADMINISTRATOR,)),
        (4, "b@example.org", ()),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Amina Diallo", "This line has no email address."),
        ("Amina <>", "This line has no email address."),
        ("Amina <amina@@example.org>", "“amina@@example.org” isn’t an email address."),
        ("Amina <amina@exam ple.org>", "“amina@exam ple.org” isn’t an email address."),
        ("Amina, amina@example.org, boss", "There is no role “boss”. Use: annotator, senior_reviewer, administrator."),
        ("cleo@example,org", "“cleo@example” isn’t an email address."),
        (f"{'x' * MAX_LINE}@example.org", "This line is longer than 500 characters."),
    ],
)
def test_a_problem_is_said_in_a_sentence(text, problem):
    found = one(text).problem
    assert found is not None
    assert (found.text % found.values).startswith(problem)


def test_an_address_counts_once_whatever_its_case():
    lines = read_people("a@example.org\nA <A@Example.org>\n").lines
    problem = lines[1].problem
    assert lines[0].problem is None
    assert problem is not None
    assert problem.text % problem.values == "This address is already on line 1."


@given(st.text(alphabet="aé@<>,;\"' \t\n\x00|=", max_size=80))
def test_no_text_breaks_the_reader_and_none_of_it_is_lost(text):
    read = read_people(text)
    said = [line.text for line in read.lines]
    assert [read.header] * bool(read.header) + said == [raw.strip() for raw in text.splitlines() if raw.strip()]
