"""``make check``: linters, type checks and other static checks."""

import argparse
import concurrent.futures
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.environment import ROOT, Environment, Stop, print_line
from scripts.template_rules import problems_below


@dataclass(frozen=True)
class Check:
    """Arguments for the environment's Python, and the environment variables to add."""

    name: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def checks(scratch: Path) -> list[Check]:
    """Return the checks. They write only to the folder `scratch`."""
    embedded = {"ASSAY_MODE": "embedded", "ASSAY_DATA": str(scratch / "embedded")}
    server = {
        "ASSAY_MODE": "server",
        "ASSAY_DATA": str(scratch / "server"),
        "ALLOWED_HOSTS": "assay.example",
        "DATABASE_URL": "postgres://assay@database.example/assay",
        "REDIS_URL": "redis://redis.example/0",
        "SECRET_KEY": secrets.token_urlsafe(50),
    }
    manage = "manage.py"
    deno = {"DENO_DIR": str(scratch / "deno"), "DENO_NO_UPDATE_CHECK": "1"}
    return [
        # First, because it takes longer than all others.
        Check("mypy", ("-m", "mypy"), embedded),
        Check("ruff check", ("-m", "ruff", "check", ".")),
        Check("ruff format", ("-m", "ruff", "format", "--check", ".")),
        Check("djlint", ("-m", "djlint", "--lint", "templates", "--extend-exclude", "templates/jinja2")),
        Check("djlint of Jinja2", ("-m", "djlint", "--lint", "templates/jinja2", "--profile", "jinja")),
        Check("mypy of the Python package", ("-m", "mypy", "--config-file", "sdk/pyproject.toml")),
        Check("JavaScript lint", ("-m", "deno", "lint", "--quiet"), deno),
        Check("JavaScript types", ("-m", "deno", "check", "--quiet", "static/app", "tests/javascript"), deno),
        Check("import contracts", ("-c", "from importlinter.cli import lint_imports_command as run; run()")),
        Check("migrations", (manage, "makemigrations", "--check", "--dry-run"), embedded),
        Check("migration rules", ("-m", "scripts.migration_rules"), embedded),
        Check("translations", ("-m", "scripts.translations", "--check")),
        Check("licences", ("-m", "scripts.licences", "--check")),
        Check("vendored files", ("scripts/vendor.py", "check")),
        Check("deployment settings", (manage, "check", "--deploy", "--fail-level", "WARNING"), server),
    ]


def main(arguments: Sequence[str]) -> int:
    """Run every check, two at a time, even after a failure. Return 0 if all passed."""
    argparse.ArgumentParser(prog="make check", description="Check the code without running it.").parse_args(arguments)
    try:
        python = Environment().prepare(development=True)
    except Stop as stop:
        print(stop, file=sys.stderr, flush=True)
        return 1
    with tempfile.TemporaryDirectory(prefix="assay-check-") as scratch:
        all_checks = checks(Path(scratch))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            passed = list(pool.map(lambda check: passes(python, check), all_checks))
    failed = [check.name for check, well in zip(all_checks, passed, strict=True) if not well]
    problems = problems_below(ROOT)
    print_line("\n".join(["failed  template rules", *problems] if problems else ["ok      template rules"]))
    if problems:
        failed.append("template rules")
    print_line(f"\nFailed: {', '.join(failed)}." if failed else "\nAll checks passed.")
    return 1 if failed else 0


def passes(python: Path, check: Check) -> bool:
    """Run one check. Print its output at once if it fails, below its name."""
    begin = time.monotonic()
    outcome = subprocess.run(
        [str(python), *check.arguments],
        cwd=ROOT,
        env={**os.environ, **check.variables},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = outcome.returncode == 0
    line = f"{'ok    ' if passed else 'failed'}  {check.name} ({time.monotonic() - begin:.1f} s)"
    # One write, so that no line of another check comes between.
    print_line(line if passed else f"{line}\n{(outcome.stdout + outcome.stderr).rstrip()}\n")
    return passed
