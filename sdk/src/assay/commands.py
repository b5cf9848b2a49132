"""What each verb of the command ``assay`` does; each returns an exit code."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from assay.client import Client
from assay.errors import JobFailed, NotFound
from assay.http import Row
from assay.jobs import Job
from assay.lines import parse_lines
from assay.output import Progress, print_rows, say
from assay.project import Project
from assay.release import load_release
from assay.work import REVIEW, Work

Options = argparse.Namespace
DONE, FAILED, NOTHING, NO_ITEM = range(4)


def projects(client: Client, options: Options) -> int:
    return _show(options, client.projects(), "slug", "name", "description")


def import_(client: Client, options: Options) -> int:
    names = ("dry_run", "revise", "reopen", "reopen_at", "at_conflicts", "suggest_dependencies")
    given = {name: getattr(options, name) for name in names}
    mapping = dict(options.map) or None
    job = _project(client, options).import_file(options.file, options.format, mapping, **given)
    row = _ended(job, options, "Import")
    print_rows([row])
    if row["rejected"]:
        say(f"Rejected records: {row['rejected']:,}. “assay report {row['public_id']}” says why.")
    return FAILED if row["rejected"] else DONE


def preview(client: Client, options: Options) -> int:
    job = _project(client, options).preview(options.file)
    print_rows([_ended(job, options, "Preview")])
    return DONE


def imports(client: Client, options: Options) -> int:
    rows = (one.row for one in _project(client, options).imports())
    return _show(options, rows, "public_id", "filename", "format", "job.state", "created", "rejected")


def report(client: Client, options: Options) -> int:
    lines = _project(client, options).get_import(options.id).report()
    return _show(options, lines, "line", "id", "pointer", "severity", "message")


def dialogues(client: Client, options: Options) -> int:
    given = {name: getattr(options, name) for name in ("status", "stage", "language", "q")} | dict(options.filter)
    filters = {name: value for name, value in given.items() if value is not None}
    rows = _project(client, options).dialogues(updated_since=options.updated_since, **filters)
    return _show(options, rows, "public_id", "external_id", "status", "stage", "error_count", "title")


def dialogue(client: Client, options: Options) -> int:
    project = _project(client, options)
    try:
        found = project.dialogue(options.id)
    except NotFound:
        named = [row for row in project.dialogues(q=options.id) if row["external_id"] == options.id]
        if not named:
            raise
        found = project.dialogue(named[0]["public_id"])
    print_rows([found["head"]["document"] if options.document else found])
    return DONE


def claim(client: Client, options: Options) -> int:
    work = _project(client, options).claim(options.stage)
    if work is None:
        say("There is no item for you now.")
        return NO_ITEM
    print(json.dumps(work.row, ensure_ascii=False, indent=1))
    return DONE


def submit(client: Client, options: Options) -> int:
    item = _read_object(options.item)
    work = _work(client, options, item)
    review = {name: item[name] for name in REVIEW if name in item and name != "document"}
    review |= {name: value for name in ("verdict", "reason") if (value := getattr(options, name)) is not None}
    if "verdict" not in review:
        raise ValueError("Say what your verdict is: --verdict, or “verdict” in the file.")
    print_rows([work.submit(**review)])
    return DONE


def skip(client: Client, options: Options) -> int:
    _work(client, options, _read_object(options.item)).skip()
    return DONE


def unclaim(client: Client, options: Options) -> int:
    _work(client, options, _read_object(options.item)).release()
    return DONE


def take_back(client: Client, options: Options) -> int:
    print_rows([{"expires_at": _work(client, options, _read_object(options.item)).take_back()}])
    return DONE


def goal(client: Client, options: Options) -> int:
    project = _project(client, options)
    if options.reviews is not None or options.none:
        print_rows([project.set_goal(options.reviews, options.person)])
    elif options.person:
        print_rows([row for row in project.goals() if row["person"] == options.person])
    else:
        print_rows([{"goal": project.goal()}])
    return DONE


def goals(client: Client, options: Options) -> int:
    return _show(options, _project(client, options).goals(), "person", "goal")


def training(client: Client, options: Options) -> int:
    project = _project(client, options)
    if options.again:
        found = project.train_again()
    elif options.set is None:
        found = project.training()
    else:
        names = ("length", "pass_mark", "attempts", "enabled")
        sent = _read_object(options.set)
        missing = [name for name in ("stage", *names) if name not in sent]
        if missing:
            raise ValueError(f"{options.set} has no “{missing[0]}”. Change what “assay training” prints.")
        given = {name: sent[name] for name in (*names, "exempt_experienced") if name in sent}
        found = project.set_training(sent["stage"], **given)
    print(json.dumps(found, ensure_ascii=False, indent=1))
    return DONE


def trainees(client: Client, options: Options) -> int:
    return _show(options, _project(client, options).trainees(), "person", "state", "done", "right", "total", "mark")


def feedback(client: Client, options: Options) -> int:
    rows = _project(client, options).feedback(updated_since=options.updated_since)
    return _show(options, rows, "public_id", "kind", "dialogue", "dispute", "opening", "created_at")


def reply(client: Client, options: Options) -> int:
    print_rows([_project(client, options).reply(options.feedback, options.text)])
    return DONE


def dispute(client: Client, options: Options) -> int:
    print_rows([_project(client, options).dispute(options.feedback, options.text)])
    return DONE


def answer(client: Client, options: Options) -> int:
    accept = options.verdict == "accept"
    print_rows([_project(client, options).answer_dispute(options.feedback, accept=accept, reason=options.text)])
    return DONE


def suggest(client: Client, options: Options) -> int:
    with _opened(options.file) as file:
        found = _project(client, options).suggest(parse_lines(file, options.file))
    print_rows([found])
    return FAILED if found["refused"] else DONE


def fields(client: Client, options: Options) -> int:
    project = _project(client, options)
    if options.set is None:
        found = project.fields()
    else:
        sent = _read_object(options.set)
        if not {"version", "definitions"} <= set(sent):
            raise ValueError(f"{options.set} has no “version” or no “definitions”. Change what “assay fields” prints.")
        found = project.set_fields(sent["definitions"], version=sent["version"], confirmed=options.confirmed)
    print(json.dumps(found, ensure_ascii=False, indent=1))
    return DONE


def status(client: Client, options: Options) -> int:
    print(json.dumps(_project(client, options).status(), ensure_ascii=False, indent=1))
    return DONE


def releases(client: Client, options: Options) -> int:
    rows = (one.row for one in _project(client, options).releases())
    return _show(options, rows, "version", "format", "state", "item_count", "errata_count", "frozen_at")


def freeze(client: Client, options: Options) -> int:
    job = _project(client, options).freeze(
        options.version, options.format, require_all=options.require_all, leave_out_gold=options.leave_out_gold
    )
    print_rows([_ended(job, options, "Release")])
    return DONE


def download(client: Client, options: Options) -> int:
    path = _project(client, options).release(options.version).download(options.out)
    print_rows([{"path": str(path)}])
    return DONE


def score(client: Client, options: Options) -> int:
    release = _project(client, options).release(options.version)
    names = ("family", "model", "provider", "language", "history", "tool_mode", "thinking", "strip_thinking")
    given = {name: value for name in names if (value := getattr(options, name))}
    job = release.score(options.file, **given)
    if options.no_wait:
        print_rows([job.row])
        return DONE
    runs = job.wait(Progress("Scores"))
    _show(options, (one.row for one in runs), "public_id", "model", "entries", "right", "missing")
    file = job.refresh()
    left = {name: file[name] for name in ("foreign", "doubled", "problems") if file[name]}
    for note in file["notes"]:
        say(note)
    return FAILED if left else DONE


def run_model(client: Client, options: Options) -> int:
    given = {name: value for name in ("name", "family", "limit", "token_budget") if (value := getattr(options, name))}
    release = _project(client, options).release(options.version)
    job = release.run_model(options.endpoint, options.model, **given)
    row = _ended(job, options, "Model")
    if options.no_wait:
        print_rows([row])
        return DONE
    print_rows([one.row for one in job.runs()])
    if row["refused"]:
        say(f"Refused requests: {row['refused']:,}. Their entries count as wrong.")
    return FAILED if row["refused"] else DONE


def runs(client: Client, options: Options) -> int:
    found = _project(client, options).release(options.version).runs(family=options.family)
    return _show(options, (one.row for one in found), "public_id", "model", "attempt", "family", "entries", "right")


def run(client: Client, options: Options) -> int:
    found = _project(client, options).run(options.id)
    if options.entries is None:
        print(json.dumps(found.row, ensure_ascii=False, indent=1))
        return DONE
    return _show(options, found.entries(outcome=options.entries), "key", "entry", "right", "error")


def errata(client: Client, options: Options) -> int:
    return _show(options, _project(client, options).release(options.version).errata(), "number", "item", "severity")


def reports(client: Client, options: Options) -> int:
    rows = _project(client, options).release(options.version).error_reports(state=options.state)
    return _show(options, rows, "public_id", "item", "state", "place", "text")


def report_error(client: Client, options: Options) -> int:
    release = _project(client, options).release(options.version)
    print_rows([release.report_error(options.item, options.text, place=options.place)])
    return DONE


def confirm(client: Client, options: Options) -> int:
    release = _project(client, options).release(options.version)
    given = {name: getattr(options, name) for name in ("severity", "reason", "evidence", "place")}
    print_rows([release.confirm_report(options.report, **given)])
    return DONE


def decline(client: Client, options: Options) -> int:
    release = _project(client, options).release(options.version)
    print_rows([release.decline_report(options.report, reason=options.reason)])
    return DONE


def records(options: Options) -> int:
    release = load_release(options.archive, verify=False)
    return _show(options, release.messages() if options.messages else release.records(options.file), "id")


def verify(options: Options) -> int:
    release = load_release(options.archive)
    print_rows([{"version": release.version, "files": len(release.files), "dialogues": len(release)}])
    return DONE


def _project(client: Client, options: Options) -> Project:
    if not options.project:
        raise ValueError(
            "Say which project: --project SLUG, or the variable ASSAY_PROJECT. “assay projects” lists them."
        )
    return client.project(options.project)


def _show(options: Options, rows: Iterable[Row], *columns: str) -> int:
    print_rows(rows, columns, table=options.output == "table")
    return DONE


def _ended(job: Job[Any], options: Options, what: str) -> Row:
    """Return the row of a job, after its end if that is wanted. Raises JobFailed, after printing the row."""
    if not options.no_wait:
        try:
            job.wait(Progress(what))
        except JobFailed:
            print_rows([job.row])
            raise
    return job.row


def _work(client: Client, options: Options, item: Row) -> Work:
    if not isinstance(item.get("slot"), str) or not isinstance(item.get("token"), str):
        raise ValueError(f"{options.item} has no “slot” or no “token”. Give what “assay claim” has printed.")
    return client.project(options.project or "").claimed(item)


def _read_object(name: str) -> Row:
    with _opened(name) as file:
        try:
            found = json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{name} is not a JSON object.")
    return found


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file
