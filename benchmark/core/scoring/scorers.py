"""One scorer a family: takes records of predictions one by one, gives entries, then a summary.

A scorer keeps what it needs for the summary, not the predictions. Records that cannot be read, entries given twice and
entries that the references do not have are refused with ``Refused``; the first prediction of an entry counts.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.core.scoring import c3, cctu, wild
from benchmark.core.scoring.arguments import COMPARERS
from benchmark.core.scoring.arguments.similarity import require_libraries
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.challenges import ANSWERS, CALLS, history_named
from benchmark.core.scoring.message_records import is_messages, read_tasks
from benchmark.core.scoring.predictions import NotAPrediction, Prediction, rounds_json, without_thoughts
from benchmark.core.scoring.published_results import read_predictions
from benchmark.core.scoring.references import ReferenceDialogue, UnusableReference, entry_name
from benchmark.core.scoring.space import space_of
from benchmark.core.scoring.statistics import add_up, attempt_figures, over_attempts, share
from benchmark.core.scoring.transcripts import NotATranscript, Transcript, read_transcript
from benchmark.core.scoring.verdicts import Verdicts
from reviews.core.agreement.figures import Figure

#: Cells that have no interval of their own: there are hundreds of them, most with a handful of entries.
_WITHOUT_INTERVAL = frozenset(("route", "matrix", "messages_length"))


class Refused(ValueError):
    """A record that is not scored; ``kind`` is “problem”, “foreign” or “doubled”."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored entry. ``entry`` is its JSON; ``dialogue`` the item of the release; ``prediction`` what the model said,
    None if nothing; ``error`` its class of error, if it has one.

    Of its JSON, ``run`` and ``entry`` name it: entries of two runs with the same name answer the same.
    """

    dialogue: str
    entry: dict[str, Any]
    prediction: Any = None
    error: str = ""

    @property
    def run(self) -> str:
        return str(self.entry["run"])

    @property
    def name(self) -> str:
        return str(self.entry["entry"])


class Scorer(ABC):
    """Scores the predictions of one family against its references."""

    #: Names of the comparers of arguments that decide this family's scores.
    comparers: tuple[str, ...] = ()

    def versions(self) -> dict[str, int]:
        return {name: COMPARERS[name] for name in self.comparers}

    @abstractmethod
    def add(self, record: Any, run: str) -> Iterator[Scored | Refused]:
        """Yield the entries of a record, and what of it was refused. ``run``: its run if it names none."""

    def finish(self) -> Iterator[Scored | Refused]:
        """Yield the entries that could only be scored at the end."""
        yield from ()

    @abstractmethod
    def summary(self, *, figures: bool = True) -> dict[str, Any]:
        """Return the figures over everything added. ``figures``: with those that have intervals, which take time."""

    @property
    @abstractmethod
    def missing(self) -> int:
        """Entries of the references without a prediction, over all runs."""


class MultiTurnScorer(Scorer):
    """Scores wild, c3 and mmtb. ``runs``: run → its language and history, where they are not the default."""

    def __init__(
        self,
        family: str,
        references: Iterable[ReferenceDialogue],
        *,
        language: str | None = None,
        history: str | None = None,
        runs: Mapping[str, Mapping[str, Any]] | None = None,
        strip_think: bool = False,
    ) -> None:
        require_libraries()
        self.family = family
        self.language, self.history, self.strip_think = language, history, strip_think
        self.runs = {run: dict(told) for run, told in (runs or {}).items()}
        self.references: dict[str, dict[str, ReferenceDialogue]] = defaultdict(dict)
        for reference in references:
            self.references[reference.language][reference.id] = reference
        self._every: dict[str, ReferenceDialogue] = {}
        self._entries: dict[str, dict[tuple[str, int], Any]] = {}
        self._doubled: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.comparers = (*(("published-wild",) if family == "wild" else ()), "published-c3", "strict")

    def language_of(self, run: str) -> str:
        """Return the language that a run is scored in; blank if it is each dialogue's own."""
        stated = self.language or self.runs.get(run, {}).get("language")
        if stated:
            return str(stated)
        languages = {one.language for one in self._universe(run).values()}
        return languages.pop() if len(languages) == 1 else ""

    def _universe(self, run: str) -> dict[str, ReferenceDialogue]:
        """Return the references that a run answers, by id: those of its language or, if it states none, every dialogue
        once, in English where there is a choice.
        """
        stated = self.language or self.runs.get(run, {}).get("language")
        if stated:
            return self.references.get(str(stated), {})
        if not self._every:
            for language in sorted(self.references, key=lambda one: one == "en"):
                self._every |= self.references[language]
        return self._every

    def history_of(self, run: str) -> str:
        """Return whether a run saw the calls of earlier tasks, or only the answers."""
        return self.history or str(self.runs.get(run, {}).get("history", CALLS))

    def _settle(self, record: Mapping[str, Any], run: str) -> None:
        """Take the language and history of a run from its first record that states them, as those of a release do.

        Raises NotAPrediction for a record that was made for another language or history than its run.
        """
        chosen = {"language": self.language, "history": self.history}
        known: dict[str, Sequence[str]] = {"language": tuple(self.references), "history": (ANSWERS, CALLS)}
        for fact, values in known.items():
            stated = record.get(fact) or (fact == "history" and history_named(str(record.get("id", ""))))
            if not stated or stated not in values:
                continue
            due = chosen[fact] or self.runs.setdefault(run, {}).setdefault(fact, stated)
            if due != stated:
                raise NotAPrediction(
                    f"/{fact} is {stated}, but {run} is scored with the {fact} {due}. Make a run of its own of these "
                    f"records, and choose the {fact} {stated} for it."
                )

    def add(self, record: Any, run: str) -> Iterator[Scored | Refused]:
        try:
            if is_messages(record):
                named = str(record.get("run", run))
                self._settle(record, named)
                predictions = list(read_tasks(record, run, self._universe(named)))
            else:
                predictions = list(read_predictions(record, run))
        except NotAPrediction as error:
            yield Refused("problem", str(error))
            return
        for prediction in predictions:
            try:
                yield self._score(prediction)
            except Refused as refused:
                yield refused

    def _score(self, prediction: Prediction) -> Scored:
        run, key = prediction.run, (prediction.dialogue, prediction.task)
        reference = self._universe(run).get(prediction.dialogue)
        if reference is None or prediction.task >= len(reference.tasks):
            what = f"task {prediction.task} of {prediction.dialogue}" if reference else prediction.dialogue
            language = self.language_of(run)
            raise Refused("foreign", f"The references have no {what[:200]}" + (f" in {language}." if language else "."))
        rounds = without_thoughts(prediction.rounds) if self.strip_think else prediction.rounds
        entries = self._entries.setdefault(run, {})
        if key in entries:
            self._doubled[run].add(key)
            raise Refused("doubled", f"Task {key[1]} of {key[0]} was given twice for {run}; the first counts.")
        try:
            entry: Any = self._module.score_task(run, reference, prediction.task, rounds, self.history_of(run))
        except UnusableReference as error:
            raise Refused("problem", str(error)) from None
        entries[key] = entry
        return self._scored(entry, rounds_json(rounds))

    @property
    def _module(self) -> Any:
        return wild if self.family == "wild" else c3

    def _scored(self, entry: Any, prediction: Any) -> Scored:
        name = entry.dialogue.id
        found = entry.as_json() | {
            "entry": entry_name(name, entry.index), "right": entry.right, "cluster": name, "cells": self._cells(entry),
        }  # fmt: skip
        if prediction is None:
            found["missing"] = True
        error = entry.c3.error_type if self.family == "wild" else entry.error_type
        return Scored(name, found, prediction, error or "")

    def _cells(self, entry: Any) -> dict[str, str]:
        return {"language": entry.dialogue.language} | dict(self._module.cells(entry))

    def finish(self) -> Iterator[Scored | Refused]:
        if self.family != "wild":
            return
        # In a dialogue with a prediction, WildToolBench counts a missing task as an empty reply.
        for run, entries in self._entries.items():
            for dialogue in dict.fromkeys(dialogue for dialogue, _ in entries):
                reference = self._universe(run)[dialogue]
                for index in range(len(reference.tasks)):
                    if (dialogue, index) not in entries:
                        entry = wild.score_task(run, reference, index, (), self.history_of(run))
                        entries[dialogue, index] = entry
                        yield self._scored(entry, None)

    @property
    def missing(self) -> int:
        return sum(len(self._missing(run)) for run in self._entries)

    def _missing(self, run: str) -> list[tuple[ReferenceDialogue, int]]:
        entries = self._entries[run]
        return [
            (reference, index)
            for reference in self._universe(run).values()
            for index in range(len(reference.tasks))
            if (reference.id, index) not in entries
        ]

    def summary(self, *, figures: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = {"runs": {}}
        for run, entries in self._entries.items():
            missing = self._missing(run)
            scores = list(entries.values())
            told = self.runs.get(run, {})
            one: dict[str, Any] = {
                "model": told.get("model", run), "language": self.language_of(run), "history": self.history_of(run),
            }  # fmt: skip
            if self.family == "wild":
                without = {reference.id: reference for reference, _ in missing}
                one |= wild.summarise(scores, list(without.values()))
                twice = [entries[key] for key in self._doubled[run] if key in entries]
                if twice:
                    # The published evaluator counts a result line as often as it is there.
                    one["published_with_doubled"] = wild.summarise([*scores, *twice], [])["published"]
            else:
                one |= c3.summarise(scores, missing)
            one["missing"] = [[reference.id, index] for reference, index in missing]
            one["doubled"] = sorted([dialogue, index] for dialogue, index in self._doubled[run])
            if figures:
                one["figures"] = [figure_json(*figure) for figure in self._figures(scores)]
                one["space"] = space_of(
                    (score.dialogue.policies[: score.index + 1], score.task.information, score.right)
                    for score in scores
                )
            found["runs"][run] = one
        if self.family != "wild":
            found["pairs"] = self._pairs()
        found["release"] = coverage(self.references)
        return found

    def _figures(self, scores: Sequence[Any]) -> Iterator[tuple[str, str, Figure]]:
        yield "right", "all", _share((one.dialogue.id, one.right, 1) for one in scores)
        yield "right_as_in_the_paper", "all", _share((one.dialogue.id, one.legal.right, 1) for one in scores)
        yield "right_with_equal_arguments", "all", _share((one.dialogue.id, one.strict, 1) for one in scores)
        if self.family == "wild":
            sessions = wild.sessions_of(scores)
            yield "session", "all", _share((name, right, 1) for name, right in sessions.items())
        cells: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
        for one in scores:
            for name, cell in self._cells(one).items():
                if name not in _WITHOUT_INTERVAL:
                    cells[name, cell].append((one.dialogue.id, one.right, 1))
        for (name, cell), triples in sorted(cells.items()):
            yield name, cell, _share(triples)
        yield from self._progress(scores)

    def _progress(self, scores: Sequence[Any]) -> Iterator[tuple[str, str, Figure]]:
        """Yield AP and OP, each as the published code counts it and as the paper describes it."""
        if self.family == "wild":
            ap = [one for one in scores if one.task.label in wild.PROGRESS]
            op = [one for one in scores if one.task.label in wild.OPTIMAL]
            yield "AP", "published", _share((one.dialogue.id, one.steps_counted, len(one.task.nodes)) for one in ap)
            by_c3 = [one.c3 for one in scores if one.c3.progress is not None]
            yield "AP", "as_in_c3_code", _share((one.dialogue.id, one.progress, len(one.task.nodes)) for one in by_c3)
        else:
            ap = [one for one in scores if one.progress is not None]
            op = [one for one in scores if one.topology in (c3.COMBINE, c3.BOTH)]
            yield "AP", "published", _share((one.dialogue.id, one.progress, len(one.task.nodes)) for one in ap)
        yield "AP", "as_in_the_paper", _share((one.dialogue.id, one.legal.matched, len(one.task.nodes)) for one in ap)
        yield "OP", "published", _share((one.dialogue.id, one.optimal, 1) for one in op)
        yield "OP", "as_in_the_paper", _share((one.dialogue.id, one.legal.optimal, 1) for one in op)

    def _pairs(self) -> dict[str, Any]:
        """Return challenge 2 against challenge 3 for each model that has a run of both."""
        by_model: dict[str, dict[str, str]] = defaultdict(dict)
        for run in self._entries:
            by_model[str(self.runs.get(run, {}).get("model", run))][self.history_of(run)] = run
        return {
            model: {
                "challenge_2": runs[ANSWERS],
                "challenge_3": runs[CALLS],
                "groups": c3.compare_histories(
                    list(self._entries[runs[ANSWERS]].values()), list(self._entries[runs[CALLS]].values())
                ),
            }
            for model, runs in by_model.items() if {ANSWERS, CALLS} <= runs.keys()
        }  # fmt: skip


class CctuScorer(Scorer):
    """Scores cctu. Transcripts are kept until the end, because validators judge all responses of a case at once."""

    def __init__(self, cases: Iterable[ReferenceCase], verdicts: Verdicts, *, strip_think: bool = False) -> None:
        self.cases = {case.id: case for case in cases}
        self.verdicts, self.strip_think = verdicts, strip_think
        self._waiting: dict[str, list[Transcript]] = defaultdict(list)
        self._seen: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._episodes: dict[str, list[cctu.Episode]] = defaultdict(list)

    def add(self, record: Any, run: str) -> Iterator[Scored | Refused]:
        try:
            transcript = read_transcript(record, run)
        except NotATranscript as error:
            yield Refused("problem", str(error))
            return
        if transcript.case not in self.cases:
            yield Refused("foreign", f"The references have no case {transcript.case[:200]}.")
            return
        seen = self._seen[transcript.run, transcript.attempt]
        if transcript.case in seen:
            what = f"Case {transcript.case}, attempt {transcript.attempt}, was given twice for {transcript.run}"
            yield Refused("doubled", f"{what}; the first counts.")
            return
        seen.add(transcript.case)
        self._waiting[transcript.case].append(transcript.without_thinking() if self.strip_think else transcript)

    def finish(self) -> Iterator[Scored | Refused]:
        for name, transcripts in self._waiting.items():
            case = self.cases[name]
            self.verdicts.judge(case, transcripts)
            for transcript in transcripts:
                episode = cctu.score_transcript(case, transcript, self.verdicts)
                self._episodes[transcript.run].append(episode)
                cells = {"scenario": case.data_source, "attempt": str(transcript.attempt)}
                found = episode.as_json() | {
                    "entry": f"{case.id}@{transcript.attempt}", "right": episode.sr, "cluster": case.id, "cells": cells,
                }  # fmt: skip
                kind = "" if episode.sr else "not solved" if not episode.solved else "violation not repaired"
                yield Scored(case.id, found, list(transcript.messages), kind)
        self._waiting.clear()

    @property
    def missing(self) -> int:
        return sum(len(self.cases) - len(seen) for seen in self._seen.values())

    def summary(self, *, figures: bool = True) -> dict[str, Any]:
        return {"runs": {run: self._summary(run, one, figures=figures) for run, one in self._episodes.items()}}

    def _summary(self, run: str, episodes: list[cctu.Episode], *, figures: bool) -> dict[str, Any]:
        episodes.sort(key=lambda one: (one.transcript.attempt, list(self.cases).index(one.case.id)))
        outcomes: dict[str, list[bool]] = defaultdict(list)
        for one in episodes:
            outcomes[one.case.id].append(one.sr)
        cells: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
        for one in episodes if figures else ():
            for scenario in ("all", one.case.data_source):
                cells["SR", scenario].append((one.case.id, one.sr, 1))
                cells["PSR", scenario].append((one.case.id, one.psr, 1))
                cells["strict SR", scenario].append((one.case.id, one.strict_sr, 1))
                cells["strict PSR", scenario].append((one.case.id, one.strict_psr, 1))
        return cctu.summarise(episodes) | {
            "attempts": over_attempts(outcomes),
            "missing": [
                [case, attempt] for (name, attempt), seen in self._seen.items() if name == run
                for case in self.cases if case not in seen
            ],
            "figures": [figure_json(name, cell, _share(triples)) for (name, cell), triples in cells.items()]
            + [figure_json(*one) for one in attempt_figures(outcomes, {case: case for case in outcomes}) if figures],
        }  # fmt: skip


def coverage(references: Mapping[str, Mapping[str, ReferenceDialogue]]) -> dict[str, dict[str, list[int]]]:
    """Return, by language, how much of the space the references cover (MMTB, table 1).

    ``MSSS_4``: sequences of up to four policies that occur, of 4 + 16 + 64 + 256 = 340. ``RelMiss``: dialogues in which
    some task hides something, of all dialogues.
    """
    found = {}
    for language, dialogues in references.items():
        routes = {
            one.policies[:count] for one in dialogues.values() for count in range(1, min(4, len(one.tasks)) + 1)
            if None not in one.policies[:count]
        }  # fmt: skip
        related = sum(any(task.hides for task in one.tasks) for one in dialogues.values())
        found[language] = {"MSSS_4": [len(routes), 340], "RelMiss": [related, len(dialogues)]}
    return found


def _share(triples: Iterable[tuple[str, int, int]]) -> Figure:
    return share("share", add_up(triples))


def figure_json(name: str, cell: str, figure: Figure) -> dict[str, Any]:
    """Return a figure for a summary: its slice, n, value and interval."""
    return {
        "name": name, "cell": cell, "n": figure.n, "value": figure.value, "low": figure.low, "high": figure.high,
        "interval": figure.undefined or figure.interval,
    }  # fmt: skip
