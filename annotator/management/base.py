"""Base of commands for pipelines: sentences instead of tracebacks, machine-readable lines on standard output."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connections
from django.db.models import QuerySet

from annotator.errors import DomainError
from annotator.models import Project
from annotator.services.archiving import as_refusal
from annotator.services.jobs.outages import full_disk, unusable

DONE, REFUSED, NOTHING_DONE = 0, 1, 2


class Stop(CommandError):
    """Ends a command with a sentence and an exit code."""

    def __init__(self, sentence: str, code: int = NOTHING_DONE) -> None:
        super().__init__(sentence, returncode=code)


class SentenceCommand(BaseCommand):
    """A command with results on standard output and messages for people on standard error."""

    requires_system_checks: list[str] = []
    stealth_options = ("exit_code",)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # argparse would print its own message and end the process.
        setattr(parser, "error", _refuse(parser))  # noqa: B010 - as a plain assignment the checker cannot follow it
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            parser = self.create_parser(argv[0], argv[1])
            options = vars(parser.parse_args(argv[2:]))
            arguments = options.pop("args", ())
            self.execute(*arguments, **options)
        except CommandError as stop:
            self.say(str(stop))
            sys.exit(stop.returncode)
        except DomainError as refusal:
            self.say(refusal.sentence)
            sys.exit(NOTHING_DONE)
        except DatabaseError as error:
            archived = as_refusal(error)
            self.say(unusable(error) if archived is None else archived.sentence)
            sys.exit(NOTHING_DONE)
        except BrokenPipeError:
            # The reader of the output has left; without this, Python would report it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(NOTHING_DONE)
        except PermissionError as error:
            self.say(f"This user may not read or write {error.filename}. Change its permissions, or use another file.")
            sys.exit(NOTHING_DONE)
        except OSError as error:
            if not full_disk(error):
                raise
            self.say(f"{full_disk(error)}. Free some space and try again.")
            sys.exit(NOTHING_DONE)
        finally:
            connections.close_all()

    def say(self, sentence: str) -> None:
        """Write a message for people."""
        self.stderr.write(sentence, style_func=str)


class ProjectsCommand(SentenceCommand):
    """A command for one project or all projects."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="SLUG", help="only this project")

    def projects(self, slug: str | None) -> QuerySet[Project]:
        """Return the projects by slug. Raises Stop if the project does not exist."""
        projects = Project.objects.order_by("slug")
        if slug is not None:
            projects = projects.filter(slug=slug)
            if not projects.exists():
                raise Stop(f"There is no project “{slug}”.")
        return projects


def require_different_files(*paths: Path | None) -> None:
    """Require that no output replaces an input or another output. Raises Stop."""
    given = [path for path in paths if path is not None]
    for one, other in combinations(given, 2):
        if one.resolve() == other.resolve():
            raise Stop(f"{other} is given twice. Use different files, so that none is overwritten.")


def _refuse(parser: ArgumentParser) -> Callable[[str], NoReturn]:
    def error(message: str) -> NoReturn:
        raise Stop(f"{message[:1].upper()}{message[1:]}. {parser.format_usage().strip()}")

    return error
