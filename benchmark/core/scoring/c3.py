"""Scores of C3-Bench and MMTB: entries as their published code and as the papers have them.

Source: ``analysis_result.py`` of the published code. An entry is right if the walk by names is and every call reaches
``RIGHT`` (``published-c3``); the calls of the whole task are paired at once, each with the best reference call left.
The code has no challenges, VF or DDD: these follow the paper.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.core.formats.answer_nodes import ANSWER, ASK
from benchmark.core.formats.labels import C3_INFORMATION_WORDS, C3_WORDS
from benchmark.core.scoring.arguments import published_c3
from benchmark.core.scoring.arguments.published_c3 import CallScore, Unreadable, read_arguments
from benchmark.core.scoring.challenges import ANSWERS, C3_CHALLENGES, CALLS
from benchmark.core.scoring.counts import Tally
from benchmark.core.scoring.legal import LegalWalk, follow, follow_strictly
from benchmark.core.scoring.predictions import EMPTY, PredictedCall, Round
from benchmark.core.scoring.references import Node, ReferenceDialogue, ReferenceTask, switches
from benchmark.core.scoring.walk import Walk, walk

CORRECT, ERROR = "correct", "error"
REJECTED, INVENTED_TOOL, MISSING_INFORMATION, REDUNDANT, NOT_REJECTED, WRONG_TOOL, EARLY = (
    "reject tool calling", "function name hallucination", "missing information in tool calling",
    "redundant tool calling", "call function without reject", "call the wrong function", "early stop",
)  # fmt: skip
#: The classes of wrong arguments: the first that is found counts.
ARGUMENT_ERRORS = (
    published_c3.MISSING, published_c3.UNKNOWN_NAME, published_c3.WRONG_TYPE, published_c3.INVENTED,
    published_c3.WRONG_VALUE,
)  # fmt: skip
ERROR_TYPES = (
    REJECTED, INVENTED_TOOL, MISSING_INFORMATION, REDUNDANT, NOT_REJECTED, WRONG_TOOL, EARLY, *ARGUMENT_ERRORS,
)  # fmt: skip
#: WildToolBench's nine classes, which its code does not have: C3-Bench's twelve merged. The merge is our reading.
CLASS9 = {
    REJECTED: "refusal", INVENTED_TOOL: "call_error", MISSING_INFORMATION: "wrong_name_or_missing_info",
    REDUNDANT: "redundant_call", NOT_REJECTED: "wrong_refusal", WRONG_TOOL: "call_error", EARLY: "early_termination",
    published_c3.MISSING: "param_type_error", published_c3.UNKNOWN_NAME: "param_hallucination",
    published_c3.WRONG_TYPE: "param_type_error", published_c3.INVENTED: "param_hallucination",
    published_c3.WRONG_VALUE: "param_value_error",
}  # fmt: skip

COMBINE, SERIAL, BOTH = "combine", "serial", "cs"
#: Added by the published code to every denominator but that of the accuracies.
EPSILON = 1e-5
#: A name that the published code takes for a refusal by the provider's filter.
_FILTERED = "filter_by_prompt"


@dataclass(frozen=True, slots=True)
class WrongCall:
    """A call below ``RIGHT``: its tool and reply, and its score against the last reference call looked at."""

    round: int
    tool: str
    against: CallScore

    def as_json(self) -> dict[str, Any]:
        return {"tool": self.tool, "scores": {name: round(score, 6) for name, score in self.against.arguments.items()}}


@dataclass(frozen=True, slots=True)
class Entry:
    """The score of one entry.

    ``action_right``: right by names. ``unreadable``: the arguments could not be compared, so the entry counts as wrong
    by names. ``rounds``: replies looked at. ``progress``: nodes done as the published AP counts them, None unless the
    topology is serial or both. ``history``: whether the model saw the calls of earlier tasks.
    """

    run: str
    dialogue: ReferenceDialogue
    index: int
    action_right: bool
    optimal_by_names: bool
    unreadable: bool
    wrong: Sequence[WrongCall]
    rounds: int
    error_type: str | None
    progress: int | None
    topology: str | None
    history: str
    legal: LegalWalk | None = None
    #: Whether it is right as in the paper with arguments that equal the reference's.
    strict: bool | None = None

    @property
    def task(self) -> ReferenceTask:
        return self.dialogue.tasks[self.index]

    @property
    def right_by_names(self) -> bool:
        return self.action_right and not self.unreadable

    @property
    def right(self) -> bool:
        return self.right_by_names and not self.wrong

    @property
    def label(self) -> str:
        return CORRECT if self.right else ERROR

    @property
    def optimal(self) -> bool:
        """As the published OP counts it: right, in the fewest batches."""
        return self.right and self.optimal_by_names

    @property
    def class9(self) -> str | None:
        return CLASS9.get(self.error_type or "")

    @property
    def messages_length(self) -> int:
        """Messages that the model is given first: those of earlier tasks, and the user's."""
        before = self.dialogue.tasks[: self.index]
        if self.history == ANSWERS:
            told = sum(2 + 2 * sum(node.name == ASK for node in task.nodes) for task in before)
        else:
            told = sum(2 * (task.published_fewest or 0) for task in before)
        return self.dialogue.context + told + 1

    @property
    def turn_subtype(self) -> str | None:
        """The kind of hidden information; the published code's default is long-range."""
        return (self.task.c3_information or "长期记忆") if self.task.hides else None

    def as_json(self) -> dict[str, Any]:
        found = {
            "run": self.run,
            "dialogue": self.dialogue.id,
            "task": self.index,
            "label": self.label,
            "action_label": CORRECT if self.action_right else ERROR,
            "arguments_unreadable": self.unreadable,
            "is_optimal": self.optimal_by_names,
            "error_type": self.error_type,
            "class9": self.class9,
            "rounds": self.rounds,
            "messages_length": self.messages_length,
            "topology": self.topology,
            "progress": self.progress,
            "nodes": len(self.task.nodes),
            "turn_type": str(self.task.hides),
            "turn_subtype": self.turn_subtype,
            "bad_calls": [wrong.as_json() for wrong in self.wrong],
        }
        return found | self.legal.as_json(self.task, strict=self.strict) if self.legal else found


def score_task(
    run: str, dialogue: ReferenceDialogue, index: int, rounds: Sequence[Round], history: str = CALLS
) -> Entry:
    """Return the score of one entry. Raises UnusableReference."""
    return score_walked(run, dialogue, index, rounds, walk(dialogue.tasks[index], rounds), history, legal=True)


def score_walked(
    run: str, dialogue: ReferenceDialogue, index: int, rounds: Sequence[Round], walked: Walk, history: str = CALLS,
    *, legal: bool = False,
) -> Entry:  # fmt: skip
    """Return the score of an entry that was followed by names already. ``legal``: with the paper's reading."""
    task = dialogue.tasks[index]
    wrong: Sequence[WrongCall] = ()
    unreadable = False
    if walked.right:
        try:
            wrong = _wrong_calls(task, dialogue, rounds[: walked.rounds])
        except Unreadable:
            unreadable = True
    used = [*rounds[: walked.rounds], *[EMPTY] * (walked.rounds - len(rounds))]
    error_type = None
    if unreadable or not walked.right:
        error_type = _action_error(task, dialogue, used)
    elif wrong:
        found = min(wrong, key=lambda one: one.round).against.errors
        error_type = next((kind for kind in ARGUMENT_ERRORS if kind in found), published_c3.WRONG_VALUE)
    shape = topology(task.nodes)
    progress = _progress(task, used, wrong, right=error_type is None) if shape in (SERIAL, BOTH) else None
    return Entry(
        run=run, dialogue=dialogue, index=index, action_right=walked.right, optimal_by_names=walked.optimal,
        unreadable=unreadable, wrong=wrong, rounds=walked.rounds, error_type=error_type, progress=progress,
        topology=shape, history=history,
        legal=follow(task, rounds, lambda call, due: _same(dialogue, call, due)) if legal else None,
        strict=follow_strictly(task, rounds) if legal else None,
    )  # fmt: skip


def _progress(task: ReferenceTask, used: Sequence[Round], wrong: Sequence[WrongCall], *, right: bool) -> int:
    """Return the nodes that the published AP counts.

    All of a right entry; else the calls of every reply but the last, a text counting as one, and of the last too if
    only arguments are wrong.
    """
    if right:
        return len(task.nodes)
    return sum(len(one.calls) or 1 for one in (used if wrong else used[:-1]))


def _same(dialogue: ReferenceDialogue, call: PredictedCall, reference: Any) -> bool:
    try:
        arguments = read_arguments(call.arguments)
        return published_c3.compare(dialogue.functions.get(call.name), arguments, reference).right
    except Unreadable:
        return False


def _wrong_calls(task: ReferenceTask, dialogue: ReferenceDialogue, rounds: Sequence[Round]) -> list[WrongCall]:
    """Pair each call with the best reference call of its tool that is left; return those below ``RIGHT``."""
    due: dict[str, list[Node]] = {}
    for node in task.nodes:
        if node.is_call:
            due.setdefault(node.name, []).append(node)
    made: dict[str, list[tuple[int, PredictedCall]]] = {}
    for number, one in enumerate(rounds):
        for call in one.calls:
            made.setdefault(call.name, []).append((number, call))
    if {name: len(calls) for name, calls in made.items()} != {name: len(nodes) for name, nodes in due.items()}:
        raise Unreadable
    found: list[WrongCall] = []
    for name, calls in made.items():
        function, left = dialogue.functions.get(name), list(due[name])
        for number, call in calls:
            arguments = read_arguments(call.arguments)
            scores = [published_c3.compare(function, arguments, node.arguments) for node in left]
            best = max(range(len(scores)), key=lambda i: scores[i].score)
            if not scores[best].right:
                found.append(WrongCall(number, name, scores[-1]))
            del left[best]
    return found


def _action_error(task: ReferenceTask, dialogue: ReferenceDialogue, used: Sequence[Round]) -> str:
    """Return the class of an entry that is wrong by names: the first of these that holds."""
    if len(used) == 1 and not _readable(used[0]):
        return REJECTED
    names = [node.name for node in task.nodes]
    if names == [ANSWER]:
        return NOT_REJECTED
    made: list[str] = []
    verdict = None
    for one in used:
        if not _readable(one):
            made.append(ASK)
            continue
        for call in one.calls:
            if call.name == _FILTERED:
                verdict = REJECTED
                break
            if call.name not in dialogue.functions:
                verdict = INVENTED_TOOL
                break
            made.append(call.name)
    if verdict:
        return verdict
    if ASK in names and ASK not in made:
        return MISSING_INFORMATION
    if len(made) >= len(names):
        return REDUNDANT
    due, done = Counter(names), Counter(made)
    if due[ASK] > done[ASK]:
        return MISSING_INFORMATION
    if done <= due:
        return EARLY
    return WRONG_TOOL if any(name not in due for name in done) else REDUNDANT


def _readable(one: Round) -> bool:
    return bool(one.calls) and one.error is None


def topology(nodes: Sequence[Node]) -> str | None:
    """Return the topology of the published code: calls in file order, a new group where one needs one of its group."""
    groups: list[list[int]] = []
    group: list[int] = []
    for position, node in enumerate(nodes):
        if not node.is_call:
            continue
        if group and any(number in group for number in node.needs):
            groups.append(group)
            group = []
        group.append(position)
    groups += [group] if group else []
    serial, combine = len(groups) > 1, any(len(one) > 1 for one in groups)
    return BOTH if serial and combine else SERIAL if serial else COMBINE if combine else None


# --- over a run ------------------------------------------------------------------------------------------------------


def summarise(entries: Sequence[Entry], missing: Sequence[tuple[ReferenceDialogue, int]]) -> dict[str, Any]:
    """Return the figures of a run: ``published`` like the published metric dictionary, and whole numbers behind them.

    ``missing``: entries without a prediction, which the published code leaves out of every denominator.
    """
    tallies = _tallies(entries)
    counts = _counts(entries, tallies)
    right, of = counts["all"]
    there = {entry.dialogue.id for entry in entries}
    return {
        "published": _published(entries, tallies),
        "counts": counts,
        "arguments_unreadable": sum(entry.unreadable for entry in entries),
        "dialogues_without_prediction": len({dialogue.id for dialogue, _ in missing} - there),
        "all_if_missing_is_wrong": [right, of + len(missing)],
    }


def word(entry: Entry) -> str:
    """Return the Chinese word of an entry's policy."""
    return C3_WORDS.get(entry.task.policy or "", "")


def cells(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the slices of an entry: a name, and the entry's cell in it."""
    policies = entry.dialogue.policies[: entry.index + 1]
    yield "type", word(entry)
    yield "layer", str(entry.index)
    yield "matrix", f"{entry.index}{word(entry)}"
    yield "turn_type", str(entry.task.hides)
    yield "route", "".join(C3_WORDS.get(policy or "", "") for policy in policies)
    yield "messages_length", str(entry.messages_length)
    if entry.topology:
        yield "topology", entry.topology
    if entry.turn_subtype:
        yield "turn_subtype", entry.turn_subtype
    if entry.index:
        yield "switches", str(switches(policies))
        yield "tasks", str(entry.index + 1)
    for challenge in C3_CHALLENGES:
        if challenge.history == entry.history and not challenge.outside(entry.task.policy, entry.index):
            yield "challenge", challenge.name.removeprefix("challenge_")


def _tallies(entries: Sequence[Entry]) -> dict[str, Tally]:
    """Return the counts by slice, and those behind the rates of the papers."""
    names = ("type", "type_by_names", "layer", "matrix", "topology", "progress", "nodes_matched_ours", "optimal")
    tallies = {name: Tally() for name in names}
    for entry in entries:
        for name, cell in cells(entry):
            tallies.setdefault(name, Tally()).add(cell, entry.right)
        tallies["type_by_names"].add(word(entry), entry.right_by_names)
        if entry.progress is not None:
            for cell in (str(entry.topology), "sum"):
                tallies["progress"].add(cell, entry.progress, len(entry.task.nodes))
                if entry.legal:
                    tallies["nodes_matched_ours"].add(cell, entry.legal.matched, len(entry.task.nodes))
        if entry.topology in (COMBINE, BOTH):
            for cell in (entry.topology, "sum"):
                tallies["optimal"].add(cell, entry.optimal)
    return tallies


def _counts(entries: Sequence[Entry], tallies: Mapping[str, Tally]) -> dict[str, Any]:
    errors = Counter(entry.error_type for entry in entries if entry.error_type)
    classes = Counter(entry.class9 for entry in entries if entry.class9)
    return {name: tally.as_json() for name, tally in tallies.items()} | {
        "error_type": dict(sorted(errors.items())),
        "class9": dict(sorted(classes.items())),
        "all": [sum(entry.right for entry in entries), len(entries)],
        "all_by_names": [sum(entry.right_by_names for entry in entries), len(entries)],
    }


def _published(entries: Sequence[Entry], tallies: Mapping[str, Tally]) -> dict[str, Any]:
    errors = Counter(entry.error_type for entry in entries if entry.error_type)

    def rates(name: str, *kinds: str) -> dict[str, float]:
        tally = tallies.get(name, Tally())
        return {kind: _rate(*tally[kind]) for kind in kinds}

    return {
        "case_num": len(entries),
        "num": _accuracies(entries, [entry.right_by_names for entry in entries]),
        "params": _accuracies(entries, [entry.right for entry in entries]),
        **{f"{kind}_tools_rate": rate for kind, rate in rates("topology", COMBINE, SERIAL, BOTH).items()},
        "serial_complete_rate": rates("progress", "sum", SERIAL, BOTH),
        "best_optical_rate": rates("optimal", "sum", COMBINE, BOTH),
        "error_type_analysis": {kind: float(f"{errors[kind] / (errors.total() + EPSILON):.6}") for kind in ERROR_TYPES},
        "turn_type_rate": rates("turn_type", "True", "False"),
        "turn_subtype_rate": rates("turn_subtype", *C3_INFORMATION_WORDS.values()),
    }


def _rate(right: int, of: int) -> float:
    return right / (of + EPSILON)


def _accuracies(entries: Sequence[Entry], rights: Sequence[bool]) -> list[str]:
    """Return accuracies as texts of at most 8 characters: all, the four policies, the first four places.

    A place without entries is empty, where the published code stops.
    """
    policies, places = Tally(*"单多拒反"), Tally("0", "1", "2", "3")
    for entry, right in zip(entries, rights, strict=True):
        policies.add(word(entry), right)
        places.add(str(entry.index), right)
    counts = [(sum(rights), len(rights)), *(policies[one] for one in "单多拒反"), *(places[one] for one in "0123")]
    return [str(right / of)[:8] if of else "" for right, of in counts]


# --- challenge 2 against challenge 3 ---------------------------------------------------------------------------------


def compare_histories(without_calls: Sequence[Entry], with_calls: Sequence[Entry]) -> dict[str, dict[str, Any]]:
    """Return VF and DDD by group (C3-Bench 3.3): entries after the first, answered with both histories.

    RW: right without the calls of earlier tasks, wrong with them. VF = (WR + RW) / N; DDD = (RW / WR) / (RR / N), None
    where WR or RR is 0.
    """
    others = {(entry.dialogue.id, entry.index): entry for entry in with_calls}
    groups: dict[str, Counter[str]] = {}
    for entry in without_calls:
        other = others.get((entry.dialogue.id, entry.index))
        if other is None or not entry.index:
            continue
        cell = "WR"[entry.right] + "WR"[other.right]
        names = ["all", f"policy={entry.task.policy}", f"tasks={entry.index + 1}"]
        names.append(f"switches={switches(entry.dialogue.policies[: entry.index + 1])}")
        if entry.turn_subtype:
            names.append(f"subtype={entry.turn_subtype}")
        for name in names:
            groups.setdefault(name, Counter())[cell] += 1
    return {name: _volatility(groups[name]) for name in sorted(groups)}


def _volatility(cells: Counter[str]) -> dict[str, Any]:
    rr, rw, wr, ww, n = cells["RR"], cells["RW"], cells["WR"], cells["WW"], cells.total()
    accuracy = rr / n
    return {
        "RR": rr, "RW": rw, "WR": wr, "WW": ww, "N": n,
        "VF": (wr + rw) / n, "Acc2": accuracy, "DDD": (rw / wr) / accuracy if wr and rr else None,
    }  # fmt: skip
