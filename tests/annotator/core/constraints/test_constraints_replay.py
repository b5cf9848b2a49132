"""The step checker: hand values for every rule, its consequences, and what holds of any trajectory."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.constraints import (
    Call,
    Consequence,
    Constraint,
    Ending,
    Replay,
    Round,
    Status,
    Variant,
    replay,
    toolset_constraints,
)
from annotator.core.schema.toolsets import CompiledToolset

S, SOFT, U = Status.SATISFIED, Status.SOFT_SATISFIED, Status.UNSATISFIED


def rule(category: str, **parameters: Any) -> Constraint:
    return Constraint(category=category, parameters=parameters)


def trajectory(*rounds: str) -> list[Round]:
    """``"a b"`` is a round of two calls, ``"=text"`` a final response."""
    return [
        Round(final=each[1:]) if each.startswith("=") else Round(tuple(Call(name) for name in each.split()))
        for each in rounds
    ]


def labels(replayed: Replay) -> list[list[tuple[int | None, str]]]:
    return [[(each.breach.call, each.breach.label) for each in turn.broken] for turn in replayed.turns]


class TestRules:
    @pytest.mark.parametrize(
        ("constraint", "rounds", "expected", "status"),
        [
            (rule("interaction rounds", max_round=2), ["a", "=x"], [[], []], S),
            (rule("interaction rounds", max_round=2), ["a", "a", "=x"], [[], [], [(None, "MAX ROUND")]], U),
            (rule("interaction rounds", min_round=3), ["a", "=x"], [[], [(None, "MIN ROUND")]], U),
            (rule("interaction rounds", min_round=3), ["a", "=x", "=x"], [[], [(None, "MIN ROUND")], []], SOFT),
            (rule("tool call count", max_callTimes=2), ["a b c", "=x"], [[(2, "MAX CALL TIMES")], []], SOFT),
            (rule("tool call count", max_callTimes=1), ["a", "b"], [[], [(0, "MAX CALL TIMES")]], U),
            (rule("tool call count", min_callTimes=2), ["a", "=x"], [[], [(None, "MIN CALL TIMES")]], U),
            (rule("tool call count", min_callTimes=2), ["a", "=x", "a", "=x"],
             [[], [(None, "MIN CALL TIMES")], [], []], SOFT),
            (rule("specific tool call count", max_calls_per_tool={"a": 1}), ["a b b", "b a", "=x"],
             [[], [(1, "MAX CALLS PER TOOL")], []], SOFT),
            (rule("sequential dependencies", order_constraints=[["a", "b"]]), ["a", "b", "=x"], [[], [], []], S),
            (rule("sequential dependencies", order_constraints=[["a", "b"]]), ["a b", "b", "=x"],
             [[(1, "TOOL ORDER")], [], []], SOFT),
            (rule("sequential dependencies", order_constraints=[["a", "b"]]), ["b", "a", "=x"],
             [[(0, "TOOL ORDER")], [], []], U),
            (rule("sequential dependencies", order_constraints=[["a", "b", "c"]]), ["b", "c"],
             [[(0, "TOOL ORDER")], [(0, "TOOL ORDER")]], U),
            (rule("parallel dependencies", parallel_groups=[["a", "b"]]), ["a", "a b", "=x"],
             [[(0, "TOOL PARALLEL")], [], []], SOFT),
            (rule("parallel dependencies", parallel_groups=[["a", "a"]]), ["a c", "=x"],
             [[(0, "TOOL PARALLEL")], []], U),
            (rule("parallel dependencies", parallel_groups=[["a", "b"], ["a", "c"]]), ["a c", "=x"], [[], []], S),
            (rule("parallel calls count", min_parallelCallTypes=2), ["a a", "=x"],
             [[], [(None, "MIN PARALLEL CALLS")]], U),
            (rule("parallel calls count", min_parallelCallTypes=2, unit="num"), ["a a", "=x"], [[], []], S),
            (rule("parallel calls count", max_parallelCallTypes=1), ["a a b a", "=x"],
             [[(2, "MAX PARALLEL CALLS"), (3, "MAX PARALLEL CALLS")], []], SOFT),
            (rule("length", max_responseLength=2, unit="words"), ["=a b c", "=a b"],
             [[(None, "MAX LENGTH")], []], SOFT),
            (rule("length", min_responseLength=3), ["=ab"], [[(None, "MIN LENGTH")]], U),
            (rule("length", min_responseLength=3), ["a"], [[]], U),
        ],
    )  # fmt: skip
    def test_hand_values(self, constraint: Constraint, rounds: list[str], expected: list[Any], status: Status) -> None:
        replayed = replay([constraint], trajectory(*rounds))
        assert labels(replayed) == expected
        assert replayed.statuses == (status,)

    def test_refused_calls_count_as_attempts(self) -> None:
        order = rule("sequential dependencies", order_constraints=[["a", "b"], ["b", "c"]])
        assert labels(replay([order], trajectory("b", "c"))) == [[(0, "TOOL ORDER")], []]

    def test_violations_stand_in_the_order_of_the_constraints(self) -> None:
        length, rounds = rule("length", min_responseLength=9), rule("interaction rounds", min_round=9)
        assert labels(replay([length, rounds], trajectory("=x"))) == [[(None, "MIN LENGTH"), (None, "MIN ROUND")]]
        assert labels(replay([rounds, length], trajectory("=x"))) == [[(None, "MIN ROUND"), (None, "MIN LENGTH")]]

    def test_a_variant_comes_into_force_with_the_first_calls(self) -> None:
        constraint = Constraint(
            category="tool call count",
            parameters={"max_callTimes": 1},
            variants=[Variant(first=["b"], parameters={"max_callTimes": 3})],
        )
        assert labels(replay([constraint], trajectory("a b c"))) == [[]]
        assert labels(replay([constraint], trajectory("a", "b"))) == [[], [(0, "MAX CALL TIMES")]]

    def test_without_category_nothing_is_judged(self) -> None:
        replayed = replay([Constraint(text="?")], trajectory("a", "=x"))
        assert replayed.statuses == (Status.UNJUDGED,)
        assert replayed.ending is Ending.ANSWERED


class TestConsequences:
    def test_each_of_them(self) -> None:
        constraints = [
            rule("tool call count", max_callTimes=5),
            rule("specific tool call count", max_calls_per_tool={"a": 1}),
            rule("sequential dependencies", order_constraints=[["a", "b"]]),
            rule("parallel dependencies", parallel_groups=[["c", "d"]]),
            rule("parallel calls count", max_parallelCallTypes=2),
            rule("length", min_responseLength=2),
            rule("interaction rounds", max_round=4),
        ]
        replayed = replay(constraints, trajectory("a b", "a c e", "e", "=x", "=xx"))
        by_label = {each.breach.label: each.breach.consequence for turn in replayed.turns for each in turn.broken}
        assert by_label == {
            "TOOL ORDER": Consequence.REJECTED,
            "MAX CALLS PER TOOL": Consequence.DISABLED,
            "TOOL PARALLEL": Consequence.REJECTED,
            "MAX PARALLEL CALLS": Consequence.IGNORED,
            "MAX CALL TIMES": Consequence.IGNORED,
            "MIN LENGTH": Consequence.RETURNED,
            "MAX ROUND": Consequence.ENDED,
        }
        assert [turn.executed for turn in replayed.turns] == [(0,), (), (), (), ()]
        assert replayed.ending is Ending.ENDED

    def test_a_round_past_the_end_changes_nothing(self) -> None:
        constraints = [
            rule("interaction rounds", max_round=1),
            rule("sequential dependencies", order_constraints=[["a", "b"]]),
        ]
        replayed = replay(constraints, trajectory("c", "b", "b"))
        assert [turn.over for turn in replayed.turns] == [False, False, True]
        assert replayed.statuses == (U, S)
        assert replayed.turns[2].constraint_states == replayed.turns[1].constraint_states

    def test_after_an_accepted_response_it_is_over(self) -> None:
        replayed = replay([rule("tool call count", max_callTimes=1)], trajectory("a", "=x", "a"))
        assert replayed.ending is Ending.ANSWERED
        assert replayed.turns[2].over
        assert replayed.statuses == (S,)

    def test_feedback_names_what_to_do(self) -> None:
        order = rule("sequential dependencies", order_constraints=[["a", "b", "c"]])
        (turn,) = replay([order], trajectory("c")).turns
        assert turn.feedback == ("c was rejected: first call a and b, in an earlier round.",)

    def test_one_is_no_plural(self) -> None:
        (turn,) = replay([rule("tool call count", max_callTimes=1)], trajectory("a b")).turns
        told = "This call to b was ignored: the limit of 1 tool call is used up. Answer with what you know."
        assert turn.feedback == (told,)


class TestLimits:
    def test_what_is_left(self) -> None:
        constraints = [
            rule("interaction rounds", max_round=4),
            rule("tool call count", max_callTimes=3),
            rule("specific tool call count", max_calls_per_tool={"a": 1, "b": 2}),
            rule("sequential dependencies", order_constraints=[["a", "b"]]),
            rule("parallel dependencies", parallel_groups=[["c", "d"]]),
            rule("parallel calls count", max_parallelCallTypes=2, unit="num"),
        ]
        first, second = (turn.limits for turn in replay(constraints, trajectory("x", "a")).turns)
        assert (first.rounds, first.calls, first.at_once, first.kinds_at_once) == (3, 2, 2, None)
        assert first.awaited == {"b": ("a",)}
        assert first.together == {"c": (("c", "d"),), "d": (("c", "d"),)}
        assert (second.rounds, second.calls, second.per_tool) == (2, 1, {"a": 0, "b": 2})
        assert second.awaited == {}

    def test_the_strictest_counts(self) -> None:
        constraints = [rule("tool call count", max_callTimes=3), rule("tool call count", max_callTimes=2)]
        (turn,) = replay(constraints, trajectory("a")).turns
        assert turn.limits.calls == 1

    def test_what_is_owed(self) -> None:
        (turn,) = replay([rule("tool call count", min_callTimes=3)], trajectory("a")).turns
        assert turn.constraint_states[0].status is S
        assert turn.constraint_states[0].owed == "2 more tool calls must be made."


class TestCode:
    def test_a_validator_judges_final_responses(self) -> None:
        constraint = Constraint(category="format", text="Shout.")
        replayed = replay(
            [constraint], trajectory("a", "=hi", "=HI"), validators={0: lambda text: (text.isupper(), "Louder.")}
        )
        assert replayed.turns[1].feedback == ("Louder.",)
        assert replayed.statuses == (SOFT,)
        assert replayed.ending is Ending.ANSWERED

    def test_what_a_model_thinks_aloud_is_no_part_of_its_response(self) -> None:
        """As the published checker does it: closed thoughts are taken out, in any case and across lines."""
        heard: list[str] = []

        def hear(text: str) -> tuple[bool, str]:
            heard.append(text)
            return True, ""

        rounds = [Round(final="<think>one two\nthree</THINK> Yes, <Think>hm</think>indeed.\n")]
        bounds = rule("length", min_responseLength=2, max_responseLength=2, unit="words")
        replayed = replay([Constraint(category="content", text="Agree."), bounds], rounds, validators={0: hear})
        assert heard == ["Yes, indeed."]
        assert replayed.statuses == (S, S)
        # One that never ends is part of the response.
        replayed = replay([bounds], [Round(final="<think>one two Yes, indeed.")])
        assert [each.breach.label for each in replayed.turns[0].broken] == ["MAX LENGTH"]

    def test_without_code_nothing_is_judged(self) -> None:
        assert replay([Constraint(category="content")], trajectory("=x")).statuses == (Status.UNJUDGED,)


class TestToolset:
    TOOLS = CompiledToolset.of_tools(
        [
            {
                "name": "find",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                    "required": ["city"],
                },
            }
        ]
    )

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            (Call("find", {"city": "Ulm"}), []),
            (Call("search", {}), ["UNAVAILABLE TOOL OR PARAMETER"]),
            (Call("find", {"city": "Ulm", "town": 1}), ["UNAVAILABLE TOOL OR PARAMETER"]),
            (Call("find", {"days": 3}), ["MISSING PARAMETER"]),
            (Call("find", {"city": "Ulm", "days": "three"}), ["PARAMETER TYPE"]),
            (Call("find", "not JSON"), ["PARAMETER TYPE"]),
            (Call("find", {"days": "x", "town": 1}),
             ["UNAVAILABLE TOOL OR PARAMETER", "MISSING PARAMETER", "PARAMETER TYPE"]),
            (Call("find"), []),
        ],
    )  # fmt: skip
    def test_by_the_schemas(self, call: Call, expected: list[str]) -> None:
        (turn,) = replay(toolset_constraints(), [Round((call,))], toolset=self.TOOLS).turns
        assert [each.breach.label for each in turn.broken] == expected
        assert {each.breach.consequence for each in turn.broken} <= {Consequence.FAILED}

    def test_without_tools_nothing_is_judged(self) -> None:
        assert set(replay(toolset_constraints(), trajectory("a")).statuses) == {Status.UNJUDGED}


NAMES = st.sampled_from("abcd")
ROUNDS = st.lists(
    st.one_of(
        st.lists(NAMES, min_size=1, max_size=4).map(lambda names: Round(tuple(map(Call, names)))),
        st.text("xy ", max_size=6).map(lambda text: Round(final=text)),
    ),
    max_size=7,
)
SMALL = st.integers(0, 4)
RULES = st.lists(
    st.one_of(
        st.builds(lambda n, m: rule("interaction rounds", min_round=n, max_round=m), SMALL, SMALL),
        st.builds(lambda n, m: rule("tool call count", min_callTimes=n, max_callTimes=m), SMALL, SMALL),
        st.builds(lambda n: rule("specific tool call count", max_calls_per_tool={"a": n}), SMALL),
        st.builds(
            lambda chain: rule("sequential dependencies", order_constraints=[chain]),
            st.lists(NAMES, min_size=2, max_size=3, unique=True),
        ),
        st.builds(
            lambda group: rule("parallel dependencies", parallel_groups=[group]),
            st.lists(NAMES, min_size=2, max_size=3),
        ),
        st.builds(lambda n: rule("parallel calls count", max_parallelCallTypes=n), SMALL),
        st.builds(lambda n: rule("length", min_responseLength=n), SMALL),
    ),
    max_size=4,
)


class TestAlgebra:
    @given(constraints=RULES, rounds=ROUNDS)
    def test_the_past_does_not_depend_on_the_future(self, constraints: list[Constraint], rounds: list[Round]) -> None:
        whole = replay(constraints, rounds).turns
        for cut in range(len(rounds)):
            assert replay(constraints, rounds[:cut]).turns == whole[:cut]

    @given(constraints=RULES, rounds=ROUNDS)
    def test_constraints_do_not_disturb_one_another(self, constraints: list[Constraint], rounds: list[Round]) -> None:
        together = labels(replay(constraints, rounds))
        apart = [labels(replay([constraint], rounds)) for constraint in constraints]
        assert together == [[each for one in apart for each in one[i]] for i in range(len(rounds))]

    @given(constraints=RULES, rounds=ROUNDS)
    def test_statuses_follow_from_the_turns(self, constraints: list[Constraint], rounds: list[Round]) -> None:
        replayed = replay(constraints, rounds)
        lived = [turn for turn in replayed.turns if not turn.over]
        for i, status in enumerate(replayed.statuses):
            broke = any(each.constraint == i for turn in lived if turn.broken for each in turn.broken)
            if status is SOFT:
                assert broke
            if replayed.ending is Ending.ANSWERED and status is S:
                assert not broke

    @given(constraints=RULES, rounds=ROUNDS, most=SMALL)
    def test_never_more_runs_than_allowed(self, constraints: list[Constraint], rounds: list[Round], most: int) -> None:
        replayed = replay([*constraints, rule("tool call count", max_callTimes=most)], rounds)
        assert sum(len(turn.executed) for turn in replayed.turns) <= most

    @given(rounds=ROUNDS, chain=st.lists(NAMES, min_size=2, max_size=4, unique=True))
    def test_order_within_a_round_does_not_matter_to_order(self, rounds: list[Round], chain: list[str]) -> None:
        order = rule("sequential dependencies", order_constraints=[chain])
        turned = [Round(each.calls[::-1], each.final) for each in rounds]

        def refused(given_: list[Round]) -> list[list[str]]:
            turns = replay([order], given_).turns
            return [sorted(turn.round.names[each.breach.call or 0] for each in turn.broken) for turn in turns]

        assert refused(rounds) == refused(turned)
