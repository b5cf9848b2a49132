"""What the lint says of each evaluator, against our reproduction of it: every legal path of small graphs is scored."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.graph import Count, argument_kinds, lint_published, paths
from benchmark.core.scoring import c3, wild
from tests.annotator.core.graph.graph_cases import acyclic
from tests.benchmark.scoring.scoring_cases import call, calls, node, reference, said

#: Texts that no comparer takes for one another.
TEXTS = ("Oslo", "Lima", "Kyiv")


@settings(max_examples=60, deadline=None)
@given(acyclic(4).filter(lambda one: one.ids), st.data())
def test_the_rejected_paths_are_those_that_the_scorers_reject(one, data):
    made = [(data.draw(st.sampled_from(["find", "read"])), data.draw(st.sampled_from(TEXTS))) for _ in one.ids]
    nodes = [
        node(name, *[place for place in range(len(made)) if need >> place & 1], q=text)
        for (name, text), need in zip(made, one.needs, strict=True)
    ]
    # The answer comes last, whatever it names.
    last = node("answer", *data.draw(st.sampled_from([range(len(nodes)), [len(nodes) - 1], []])))
    dialogue = reference(tasks=[("Mixed Multi-Tool", [*nodes, last])])
    names, texts = zip(*made, strict=True)
    lint = lint_published(one, names, argument_kinds(names, texts), examples=10_000)
    place = {step: i for i, step in enumerate(one.ids)}
    chance = random.Random(5)
    by_c3, by_wild = set(), set()
    for path in paths(one):
        rounds = []
        for batch in path:
            # The order within a reply must not matter.
            reply = [made[place[step]] for step in chance.sample(batch, len(batch))]
            rounds.append(calls(*[call(name, q=text) for name, text in reply]))
        rounds.append(said())
        if not c3.score_task("run", dialogue, 0, rounds).right:
            by_c3.add(path)
        if not wild.score_task("run", dialogue, 0, rounds).right:
            by_wild.add(path)
    assert set(lint.by_both) == by_c3
    assert set(lint.by_both) | set(lint.by_wild) == by_wild
    assert (lint.c3, lint.wild) == (Count(len(by_c3)), Count(len(by_wild)))
