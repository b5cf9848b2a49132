"""Which entries the challenges of C3-Bench have, and the two forms of WildToolBench.

C3-Bench (sections 1, 2.2 to 2.4 and 3): challenge 1 has the entries of one to four tasks whose last task needs several
tools, with the calls of the earlier tasks. Challenge 2 has the entries of two to four tasks, and of the earlier tasks
only what the user and the model said; challenge 3 has the same entries with the calls. The published code has none of
them. WildToolBench has the entries of one to four tasks, with the calls; without them is our addition.
"""

from dataclasses import dataclass

#: What an entry shows of the earlier tasks: what was said, or the calls and their results too.
ANSWERS, CALLS = "answers", "calls"
#: The most tasks of an entry in both papers.
MAX_TASKS = 4
FIRST_TASK, TOO_MANY_TASKS, NOT_MULTI_TOOL = "first_task", "more_than_four_tasks", "not_multi_tool"
#: Separates an entry's name from that of a challenge.
_AT = "@"


@dataclass(frozen=True, slots=True)
class Challenge:
    """A set of entries with one kind of history. ``only_multi_tool``, ``only_later``: of which tasks."""

    name: str
    history: str
    only_multi_tool: bool = False
    only_later: bool = False

    def outside(self, policy: str | None, index: int) -> str:
        """Return why the entry of a task (from 0) does not belong here; blank if it does."""
        if index >= MAX_TASKS:
            return TOO_MANY_TASKS
        if self.only_later and not index:
            return FIRST_TASK
        return NOT_MULTI_TOOL if self.only_multi_tool and policy != "multi_tool" else ""


C3_CHALLENGES = (
    Challenge("challenge_1", CALLS, only_multi_tool=True),
    Challenge("challenge_2", ANSWERS, only_later=True),
    Challenge("challenge_3", CALLS, only_later=True),
)
WILD_HISTORIES = (Challenge("history_answers", ANSWERS), Challenge("history_calls", CALLS))
#: Format of a release → the sets of entries that it has.
_SETS = {
    "c3": C3_CHALLENGES, "mmtb": C3_CHALLENGES, "neutral": C3_CHALLENGES, "wild": WILD_HISTORIES,
}  # fmt: skip
_HISTORIES = {one.name: one.history for one in (*C3_CHALLENGES, *WILD_HISTORIES)}


def challenges_of(native_format: str) -> tuple[Challenge, ...]:
    """Return the sets of entries of a release in a format."""
    return _SETS.get(native_format, ())


def challenge_id(entry: str, challenge: Challenge) -> str:
    """Return the id of an entry in a set: ``dialogue#task@challenge``."""
    return f"{entry}{_AT}{challenge.name}"


def entry_of(name: str) -> str:
    """Return the entry of an id that ``challenge_id`` made; any other id as it is."""
    entry, _, last = name.rpartition(_AT)
    return entry if entry and last in _HISTORIES else name


def history_named(name: str) -> str:
    """Return the history of an entry by an id that ``challenge_id`` made; blank for any other id."""
    entry, _, last = name.rpartition(_AT)
    return _HISTORIES.get(last, "") if entry else ""
