"""``manage.py simulate_project --protocol c3|wild|cctu|async --dialogues N --people M --seed S [--json]``"""

import json
import sys
import time
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.roles import Role
from annotator.errors import DomainError
from annotator.management.base import DONE, REFUSED, SentenceCommand, Stop
from annotator.models import Project
from reviews.core.protocols import PRESETS, Protocol, load_preset
from reviews.core.simulation import Rates, build_model
from reviews.services.sampling.draws import SIMULATED
from reviews.services.simulation.runner import run_to_end
from reviews.services.simulation.setup import set_up
from reviews.services.simulation.summary import simulation_summary

#: Most dialogues and people of one simulation.
MAX_ITEMS, MAX_PEOPLE = 100_000, 1000


class Command(SentenceCommand):
    help = (
        "Simulate a new project with synthetic annotators of known error rates, and compare planted with measured "
        "figures. Its address begins with sim-. Last line: a JSON summary, the same for the same options. Exit code 1 "
        "if stored counts differ from a recount."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--protocol", required=True, metavar="|".join(PRESETS), help="the protocol preset")
        parser.add_argument("--dialogues", required=True, type=int, metavar="N", help="number of candidates")
        parser.add_argument(
            "--people", required=True, type=int, metavar="M", help="number of people, including senior reviewers"
        )
        parser.add_argument("--seed", required=True, type=int, metavar="S", help="random seed")
        parser.add_argument("--slug", metavar="SLUG", help=f"address of the new project; must begin with {SIMULATED}")
        parser.add_argument("--json", action="store_true", help="print only the JSON summary, no table")
        for name, default in _rates().items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=float, metavar="P", help=f"default {default}")

    def handle(self, *args: Any, **options: Any) -> None:
        preset, slug = options["protocol"], _slug(options)
        if preset not in PRESETS:
            raise Stop(f"There is no preset “{preset}”. Choose one of: {', '.join(PRESETS)}.")
        for name, most in (("dialogues", MAX_ITEMS), ("people", MAX_PEOPLE)):
            if not 1 <= options[name] <= most:
                raise Stop(f"--{name} must be a number from 1 to {most:,}.")
        if Project.objects.filter(slug=slug).exists():
            raise Stop(f"The project {slug} already exists. Use another seed or --slug.")
        annotators, experts = share_roles(load_preset(preset), options["people"])
        try:
            rates = Rates(**{name: options[name] for name in _rates() if options[name] is not None})
            model = build_model(
                seed=options["seed"],
                dialogues=options["dialogues"],
                annotators=annotators,
                experts=experts,
                rates=rates,
            )
        except ValueError as error:
            raise Stop(str(error)) from None
        begin = time.perf_counter()
        try:
            simulation = set_up(model=model, preset=preset, slug=slug)
        except DomainError as refusal:
            raise Stop(refusal.sentence) from None
        self.say(f"{len(model.items):,} candidates, {annotators} annotators and {experts} senior reviewers in {slug}.")
        begun = time.perf_counter()
        run_to_end(simulation)
        seconds = time.perf_counter() - begun
        self.say(f"{len(simulation.records):,} reviews in {seconds:.0f} s ({len(simulation.records) / seconds:.0f}/s).")
        summary = simulation_summary(simulation)
        self.say(f"Total time: {time.perf_counter() - begin:.1f} s.")
        if not options["json"]:
            for line in table(summary):
                self.say(line)
        self.stdout.write(json.dumps(summary, ensure_ascii=False, separators=(",", ":")))
        sys.exit(DONE if all(summary["consistent"].values()) else REFUSED)


def share_roles(protocol: Protocol, people: int) -> tuple[int, int]:
    """Return the numbers of annotators and senior reviewers: a quarter (at least two) are senior reviewers if a stage
    needs them.
    """
    takers = [set(stage.eligible.roles) for stage in protocol.stages]
    if not any(Role.ANNOTATOR in roles for roles in takers):
        return 0, people
    if all(Role.ANNOTATOR in roles for roles in takers):
        return people, 0
    experts = min(max(2, people // 4), people - 1)
    return people - experts, experts


def table(summary: dict[str, Any]) -> list[str]:
    """Return the summary's figures as lines: planted, measured, interval."""
    lines = [f"{'':44} {'planted':>8} {'measured':>8}   95 % interval"]
    for one in summary["accuracy"]:
        lines.append(_line(f"accuracy after {one['point']}", one))
    for one in summary["audits"]:
        lines.append(_line(f"error rate audited by {one['stage']}", one["error_rate"]))
        lines.append(_line("  after its corrections", one["residual"]))
    for one in summary["agreement"]:
        for figure in one["figures"]:
            lines.append(_line(f"{one['label']} in {one['stage']}: {figure['figure']}", figure))
    wrong = [name for name, good in summary["consistent"].items() if not good]
    lines.append(f"Counts that differ from a recount: {', '.join(wrong)}." if wrong else "All counts match a recount.")
    return lines


def _line(name: str, one: dict[str, Any]) -> str:
    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    reach = "–" if one["low"] is None else f"{number(one['low'])} to {number(one['high'])}"
    missed = "  does not cover the planted value" if one["covers"] is False else ""
    return f"{name[:44]:44} {number(one['planted']):>8} {number(one['measured']):>8}   {reach}{missed}"


def _slug(options: dict[str, Any]) -> str:
    named: str | None = options["slug"]
    if named is not None and not named.startswith(SIMULATED):
        raise Stop(f"The address of a simulation must begin with {SIMULATED}, to tell it from real work.")
    return named or f"{SIMULATED}{options['protocol']}-{options['dialogues']}-{options['people']}-{options['seed']}"


def _rates() -> dict[str, float]:
    return {name: getattr(Rates(), name) for name in Rates.__slots__}
