"""Prompt templates: what they may have, and that none takes long or reads more than its values."""

import pytest

from benchmark.core.generation.purposes import ROLE_OF, SAMPLES, Purpose, shipped_template
from benchmark.core.generation.templates import TemplateProblem, check_template, render, template_hash

PLAN = Purpose.ACTIONS


@pytest.mark.parametrize("purpose", Purpose)
def test_shipped_templates_can_be_used(purpose):
    check_template(purpose, shipped_template(purpose))
    prompt = render(purpose, shipped_template(purpose), SAMPLES[purpose])
    assert "The answer is not JSON." in prompt
    assert purpose in ROLE_OF


def test_a_template_has_values_loops_and_conditions():
    source = "{% for one in steps %}{{ loop.index }} {{ one.id }}{% if not loop.last %}, {% endif %}{% endfor %}"
    values = SAMPLES[PLAN] | {"steps": [{"id": "s1"}, {"id": "s2"}]}
    assert render(PLAN, source, values) == "1 s1, 2 s2"
    assert render(PLAN, "{{ tools[0].name|upper }} {{ tools|length }}", SAMPLES[PLAN]) == "GET_WEATHER 1"
    assert template_hash("a") != template_hash("b") == template_hash("b")


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("{% for", 1, "not a valid template"),
        ("one\n{{ message", 2, "not a valid template"),
        ("one\n{% include 'secrets' %}", 2, "can’t have this (include)"),
        ("{% extends 'x' %}", 1, "can’t have this (extends)"),
        ("{% set x = 1 %}", 1, "can’t have this (assign)"),
        ("{% macro m() %}{% endmacro %}", 1, "can’t have this (macro)"),
        ("one\ntwo {{ message.__class__ }}", 2, "“_” can’t be read"),
        ("{{ tools['__class__'] }}", 1, "“_” can’t be read"),
        ("{{ ''.format }}", 1, "has no attribute 'format'"),
        ("{{ tools.append(1) }}", 1, "Only “range” can be called"),
        ("{{ message|attr('x') }}", 1, "“attr” is not available"),
        ("{{ environ }}", 1, "There is no value “environ”"),
        ("{{ self }}", 1, "There is no value “self”"),
        ("{{ lipsum }}", 1, "There is no value “lipsum”"),
        ("{{ message ~ message }}", 1, "can’t have this (concat)"),
        ("{{ 'a' * 1000000000 }}", 1, "can’t have this (mul)"),
        ("{{ range(1000000000) }}", 1, "counts up to 1,000"),
        ("\n{{ tools[0].nope.deeper }}", 2, "can’t be filled in"),
        ("{{" + "(" * 5_000, 0, "too many levels"),
        ("x" * 30_000, 0, "at most 20,000 characters"),
        (" ", 0, "is empty"),
        ("{% for a in tools %}" * 6 + "x" + "{% endfor %}" * 6, 1, "At most 4 loops"),
        (
            "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}"
            "{% endfor %}", 1, "repeats too much",
        ),
        ("{% for a in range(1000) %}{% for b in range(1000) %}{{ tools|tojson }}{% endfor %}{% endfor %}", 0,
         "more than 200,000"),
        ("{{ 1" + "9" * 5_000 + " }}", 0, "not a valid template"),
        ("{% for a in range(400) %}{% for b in range(400) %}" + "{% if a == b %}{% endif %}" * 5
         + "{% endfor %}{% endfor %}", 1, "repeats too much"),
        ("{{ (message" + "|tojson" * 60 + ")[:1] }}", 1, "repeats too much"),
    ],
)  # fmt: skip
def test_anything_else_is_a_sentence_with_its_line(source, line, says):
    with pytest.raises(TemplateProblem) as caught:
        check_template(PLAN, source)
    assert says in str(caught.value)
    assert caught.value.line == line
    assert (f"Line {line}:" in str(caught.value)) == bool(line)
    with pytest.raises(TemplateProblem):
        render(PLAN, source, SAMPLES[PLAN])
