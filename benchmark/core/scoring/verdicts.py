"""The verdicts of a case's validators on the final responses of many transcripts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from annotator.core.constraints.rounds import Verdict, without_thinking
from annotator.core.sandbox import Call, CallResult
from annotator.core.validators.sources import NoSource, source_of
from benchmark.core.scoring.cctu_cases import ReferenceCase
from benchmark.core.scoring.transcripts import Transcript

#: ``Sandbox.run``: code, function, calls → results.
Run = Callable[[str, str, Iterable[Call]], Sequence[CallResult]]


class Verdicts:
    """Judges responses in batches, one per validator, and remembers what it said.

    Call it with case, position of the constraint and response; None means that the validator gave no verdict.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[tuple[str, int, str], Verdict | None] = {}

    def judge(self, case: ReferenceCase, transcripts: Iterable[Transcript]) -> None:
        """Run the validators of a case on all final responses of its transcripts. Raises SandboxUnavailable."""
        rounds = (given for transcript in transcripts for given in transcript.rounds)
        self.judge_texts(case, (given for given in rounds if isinstance(given, str)))

    def judge_texts(self, case: ReferenceCase, texts: Iterable[str]) -> None:
        """Run the validators of a case on final responses. Raises SandboxUnavailable."""
        responses = list(dict.fromkeys(map(without_thinking, texts)))
        for rule in case.rules:
            if rule.needs_validator:
                validator: dict[str, Any] | None = case.document["constraints"][rule.position]["validator"]
                new = [one for one in responses if (case.id, rule.position, one) not in self._known]
                for response, verdict in zip(new, self._verdicts(validator, new), strict=True):
                    self._known[case.id, rule.position, response] = verdict

    def _verdicts(self, validator: dict[str, Any] | None, responses: Sequence[str]) -> Sequence[Verdict | None]:
        if validator is None or not responses:
            return [None] * len(responses)
        try:
            source, function = source_of(validator)
        except NoSource:
            return [None] * len(responses)
        results = self._run(source, function, [Call((response,)) for response in responses])
        return [(bool(one.accepted), one.message) if one.ok else None for one in results]

    def __call__(self, case: str, position: int, response: str) -> Verdict | None:
        return self._known.get((case, position, response))
