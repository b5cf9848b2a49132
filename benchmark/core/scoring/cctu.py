"""Scores of CCTU: whether a case was solved, and what became of each of its constraints.

Sources: ``evaluation.py`` and ``utils/constraint_checker`` of the published code. *Solved*: the tools' replies yielded
every expected text; the final response is never looked at. SR: solved, and no feedback after the model's last message.
PSR: solved, and no feedback at all, though the phrase counts wherever it stands, quoted by the model or a tool too.

The published code does not score single constraints. ``Status`` has two readings of them: ``released``, what SR lives
by (no feedback after the last message), and ``strict``, ours: each violation was repaired later. The strict reading
also counts violations whose feedback the published generator loses.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from annotator.core.constraints.replay import Status
from annotator.core.constraints.solving import text_of as text_of_value
from annotator.core.constraints.solving import yields
from annotator.core.constraints.taxonomy import categories
from annotator.core.constraints.toolset import toolset_constraints
from benchmark.core.scoring.arguments.published_cctu import LABEL
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.cctu_steps import Judge, Violation, find_violations
from benchmark.core.scoring.transcripts import AttemptedCall, Transcript, calls_of, text_of

#: The phrase of all feedback, around a label; any case counts.
_BEGIN, _END = "instruction following error:", "not followed!"
_IN_LABEL = frozenset(f"{ascii_lowercase}{digits} _")
#: ASCII capitals only: lower() may change a text's length.
_LOWER = {ord(capital): ord(capital.lower()) for capital in ascii_uppercase}
#: Ceilings on calls: more calls cannot be taken back.
_NEVER_REFINED = frozenset(("MAX CALL TIMES", "MAX CALLS PER TOOL"))
#: Violations of single calls, refined by a later call of the same tool.
_BY_TOOL = frozenset(("TOOL ORDER", "TOOL PARALLEL", LABEL))
_IN_A_ROUND = "MAX PARALLEL CALLS"

ANSWERED, CALLS, RETURNED, NOTHING = "answered", "calls", "returned", "nothing"


@dataclass(frozen=True, slots=True)
class ConstraintScore:
    """What became of one constraint: its violations that the model was told, those it was not, and both readings."""

    index: int | None
    category: str
    violations: int
    rounds: tuple[int, ...]
    released: Status
    strict: Status
    masked: int = 0
    limit: bool = False

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {} if self.index is None else {"index": self.index}
        found |= {
            "category": self.category, "violations": self.violations, "rounds": list(self.rounds),
            "status": self.released.value,
        }  # fmt: skip
        found |= {"masked": self.masked} if self.masked else {}
        found |= {"limit": True} if self.limit else {}
        return found | {"strict": self.strict.value}


@dataclass(frozen=True)
class Episode:
    """The score of one transcript."""

    transcript: Transcript
    case: ReferenceCase
    found: tuple[int, int]
    violated: bool
    violated_last: bool
    rounds: int
    calls: int
    ending: str
    violations: Sequence[Violation]
    constraints: Sequence[ConstraintScore]
    quoted: Sequence[str]
    unjudged: Mapping[int, str] = field(default_factory=dict)

    @property
    def solved(self) -> bool:
        return self.found[0] == self.found[1]

    @property
    def sr(self) -> bool:
        return self.solved and not self.violated_last

    @property
    def psr(self) -> bool:
        return self.solved and not self.violated

    @property
    def limit_reached(self) -> bool:
        return self.rounds >= self.case.max_rounds

    def _is_strictly(self, *statuses: Status) -> bool:
        allowed = {Status.SATISFIED, Status.UNJUDGED, *statuses}
        return self.solved and self.ending == ANSWERED and all(one.strict in allowed for one in self.constraints)

    @property
    def strict_sr(self) -> bool:
        return self._is_strictly(Status.SOFT_SATISFIED)

    @property
    def strict_psr(self) -> bool:
        return self._is_strictly()

    def as_json(self) -> dict[str, Any]:
        told = [one.as_json() for one in self.violations if not one.masked]
        masked = dict.fromkeys((one.round, one.call, one.label) for one in self.violations if one.masked)
        found: dict[str, Any] = {
            "run": self.transcript.run, "case": self.case.id, "attempt": self.transcript.attempt,
            "SR": self.sr, "PSR": self.psr, "solved": self.solved, "found": list(self.found),
            "violated": self.violated, "violated_last": self.violated_last, "rounds": self.rounds,
            "calls": self.calls, "ending": self.ending, "limit_reached": self.limit_reached,
            "strict": {"SR": self.strict_sr, "PSR": self.strict_psr}, "violations": told,
            "constraints": [one.as_json() for one in self.constraints if one.index is not None],
            "toolset": [one.as_json() for one in self.constraints if one.index is None],
        }  # fmt: skip
        if masked:
            found["masked"] = [{"round": number, "call": call, "label": label} for number, call, label in masked]
        if self.quoted:
            found["quoted"] = list(self.quoted)
        if self.unjudged:
            found["unjudged"] = {str(position): why for position, why in self.unjudged.items()}
        return found


def score_transcript(case: ReferenceCase, transcript: Transcript, judge: Judge) -> Episode:
    """Return the score of a transcript of a case. ``judge`` knows the verdicts of the case's validators."""
    messages = transcript.messages
    rounds = transcript.rounds
    ending = _ending(messages)
    violations, unjudged = find_violations(case, rounds, judge)
    limit = ending != ANSWERED and len(rounds) >= case.max_rounds
    violated, violated_last = flags(messages)
    return Episode(
        transcript=transcript,
        case=case,
        found=solve(messages, case.unsolved),
        violated=violated,
        violated_last=violated_last,
        rounds=len(rounds),
        calls=sum(len(one) for one in rounds if not isinstance(one, str)),
        ending=ending,
        violations=violations,
        constraints=[*_statuses(case, rounds, violations, unjudged, limit=limit)],
        quoted=_quoted(messages),
        unjudged=unjudged,
    )


# --- what the published evaluator reads ------------------------------------------------------------------------------


def solve(messages: Sequence[Mapping[str, Any]], unsolved: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many expected texts the tools' replies yielded, of how many.

    A reply belongs to the tool whose call has its id; of an id given twice, the last name counts. One reply ticks off
    the first open text that it yields.
    """
    names = {
        call.id: call.name for message in messages if message.get("role") == "assistant" for call in calls_of(message)
        if call.id and call.name
    }  # fmt: skip
    left = {name: list(texts) for name, texts in unsolved.items()}
    total = sum(map(len, left.values()))
    found = 0
    for message in messages:
        if message.get("role") != "tool" or not message.get("tool_call_id"):
            continue
        expected = left.get(names.get(str(message["tool_call_id"]), ""), [])
        reply = text_of(message)
        for position, text in enumerate(expected):
            if holds(reply, text):
                del expected[position]
                found += 1
                break
    return found, total


def holds(reply: Any, expected: Any) -> bool:
    """Return whether a reply yields an expected text; null is never found."""
    return expected is not None and yields(text_of_value(reply), str(expected))


def flags(messages: Sequence[Mapping[str, Any]]) -> tuple[bool, bool]:
    """Return whether feedback stands anywhere, and whether it stands after the model's last message."""
    if messages and messages[-1].get("role") == "tool":
        return True, True
    last = max((n for n, message in enumerate(messages) if message.get("role") == "assistant"), default=None)
    if last is None:
        return False, False
    told = [says_feedback(text_of(message)) for message in messages]
    return any(told), any(told[last + 1 :])


def says_feedback(text: str) -> bool:
    """Return whether a text contains the phrase “INSTRUCTION FOLLOWING ERROR: … NOT FOLLOWED!” around a label of ASCII
    letters, digits, blanks and underscores.
    """
    lowered = text.translate(_LOWER)
    place = 0
    while (end := lowered.find(_END, place)) >= 0:
        begin = lowered.rfind(_BEGIN, place, end)
        if begin >= 0:
            between = lowered[begin + len(_BEGIN) : end]
            label = between.strip()
            if _IN_LABEL.issuperset(label) if label else " " in between:
                return True
        place = end + len(_END)
    return False


def _quoted(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the roles of messages that quote the phrase without being feedback."""
    found = []
    for message in messages:
        text, role = text_of(message), message.get("role")
        if says_feedback(text) and (
            role == "assistant" or (role == "tool" and not text.startswith("INSTRUCTION FOLLOWING ERROR:"))
        ):
            found.append(str(role))
    return sorted(set(found))


def _ending(messages: Sequence[Mapping[str, Any]]) -> str:
    if not any(message.get("role") == "assistant" for message in messages):
        return NOTHING
    match messages[-1].get("role"):
        case "assistant":
            return CALLS if calls_of(messages[-1]) else ANSWERED
        case "tool":
            return CALLS
        case _:
            return RETURNED


# --- what became of each constraint ----------------------------------------------------------------------------------


def _statuses(
    case: ReferenceCase,
    rounds: Sequence[tuple[AttemptedCall, ...] | str],
    violations: Sequence[Violation],
    unjudged: Mapping[int, str],
    *,
    limit: bool,
) -> Iterable[ConstraintScore]:
    for rule in case.rules:
        own = [one for one in violations if one.constraint == rule.position]
        at_limit = limit and rule.name == "interaction rounds"
        yield _status(rule.position, rule.name, own, rounds, limit=at_limit, judged=rule.position not in unjudged)
    for constraint in toolset_constraints():
        own = [one for one in violations if one.constraint is None and one.category == constraint.category]
        yield _status(None, constraint.category or "", own, rounds)


def _status(
    index: int | None,
    category: str,
    own: Sequence[Violation],
    rounds: Sequence[tuple[AttemptedCall, ...] | str],
    *,
    limit: bool = False,
    judged: bool = True,
) -> ConstraintScore:
    told = [one for one in own if not one.masked]
    if limit or any(one.round == len(rounds) for one in told):
        released = Status.UNSATISFIED
    else:
        released = Status.SOFT_SATISFIED if told else Status.SATISFIED
    strict = Status.SATISFIED
    if limit or own:
        strict = Status.SOFT_SATISFIED if not limit and _is_refined(own, rounds) else Status.UNSATISFIED
    elif not judged:
        released = strict = Status.UNJUDGED
    places = dict.fromkeys(one.round for one in told)
    return ConstraintScore(index, category, len(told), tuple(places), released, strict, len(own) - len(told), limit)


def _is_refined(own: Sequence[Violation], rounds: Sequence[tuple[AttemptedCall, ...] | str]) -> bool:
    """Return whether every violation of one constraint was repaired later."""
    broken = {(one.round, one.call) for one in own}
    last: dict[tuple[str, str], int] = {}
    for one in own:
        if one.label in _NEVER_REFINED:
            return False
        key = (one.label, one.tool if one.label in _BY_TOOL else "")
        last[key] = max(last.get(key, 0), one.round)
    for (label, tool), number in last.items():
        later = list(enumerate(rounds, 1))[number:]
        if label in _BY_TOOL:
            repaired = any(
                call.name == tool and (place, position) not in broken
                for place, given in later if not isinstance(given, str) for position, call in enumerate(given)
            )  # fmt: skip
        elif label == _IN_A_ROUND:
            repaired = any(not isinstance(given, str) for _, given in later)
        else:
            repaired = any(isinstance(given, str) for _, given in later)
        if not repaired:
            return False
    return True


# --- over a run ------------------------------------------------------------------------------------------------------

OVERALL = "Overall"


def summarise(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return the figures of a run over its attempts: ``published`` as the evaluator prints them, and ours beside."""
    groups: dict[str, list[Episode]] = {OVERALL: []}
    for episode in episodes:
        groups[OVERALL].append(episode)
        groups.setdefault(episode.case.data_source, []).append(episode)
    by_scenario = {name: _scenario(group) for name, group in groups.items()}
    return {
        "published": {name: {key: figures[key] for key in ("SR", "PSR")} for name, figures in by_scenario.items()},
        "by_scenario": by_scenario,
        "rates": _rates(episodes),
    }


def _scenario(episodes: Sequence[Episode]) -> dict[str, Any]:
    attempts: dict[int, list[Episode]] = {}
    for episode in episodes:
        attempts.setdefault(episode.transcript.attempt, []).append(episode)
    found: dict[str, Any] = {}
    for name, reading in (
        ("SR", Episode.sr), ("PSR", Episode.psr), ("strict_SR", Episode.strict_sr), ("strict_PSR", Episode.strict_psr),
    ):  # fmt: skip
        shares = [100 * sum(map(reading.__get__, group)) / len(group) for group in attempts.values()]
        found[name] = _mean_and_deviation(shares)
        found[f"{name}_by_attempt"] = [round(share, 2) for share in shares]
    found["episodes"] = len(episodes)
    found["episodes_with_violation"] = sum(episode.violated for episode in episodes)
    return found


def _mean_and_deviation(shares: Sequence[float]) -> str:
    """Return the mean and the population deviation over attempts."""
    if not shares:
        return ""
    mean = sum(shares) / len(shares)
    deviation = (sum((share - mean) ** 2 for share in shares) / len(shares)) ** 0.5
    return f"{mean:.2f} ± {deviation:.2f}"


def _rates(episodes: Sequence[Episode]) -> dict[str, Any]:
    """Return, by category, how many transcripts of cases that have it violated and refined it.

    The denominators are ours: violation rate of all carriers, refinement rate of the violated. The constraints of one
    category in a case are one carrier: violated if one is, refined if all that were broken are.
    """
    carriers = Counter[str]()
    counts: dict[str, Counter[str]] = {}
    for episode in episodes:
        groups: dict[str, list[ConstraintScore]] = {}
        for one in episode.constraints:
            groups.setdefault(one.category, []).append(one)
        for category, group in groups.items():
            carriers[category] += 1
            for prefix, statuses in (
                ("", [one.released for one in group]), ("strict_", [one.strict for one in group]),
            ):  # fmt: skip
                broken = [one for one in statuses if one in (Status.SOFT_SATISFIED, Status.UNSATISFIED)]
                tally = counts.setdefault(category, Counter())
                tally[f"{prefix}violated"] += bool(broken)
                tally[f"{prefix}refined"] += bool(broken) and Status.UNSATISFIED not in broken
    found = {}
    for category in (one.id for one in categories()):
        if category in counts:
            tally, whole = counts[category], carriers[category]
            rates: dict[str, Any] = {"carriers": whole}
            for prefix in ("", "strict_"):
                rates |= {f"{prefix}{name}": tally[f"{prefix}{name}"] for name in ("violated", "refined")}
            for prefix in ("", "strict_"):
                violated = tally[f"{prefix}violated"]
                rates[f"{prefix}violation_rate"] = _rate(violated, whole)
                rates[f"{prefix}refinement_rate"] = _rate(tally[f"{prefix}refined"], violated)
            found[category] = rates
    return found


def _rate(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None
