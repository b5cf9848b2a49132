"""The verbs of the command ``assay``: what they are called, what they say about themselves, what they take."""

from typing import Any

from assay import commands
from assay.arguments import Argument, argument, flag, pair

_NO_WAIT = flag("--no-wait", "print the state at once, and do not wait for the end")
_VERSION = argument("version", metavar="VERSION", help="the release, such as 1.0")
_FORMAT = argument("--format", required=True, help="the native format, such as neutral, openai, wild or c3")
_ITEM = argument("item", metavar="FILE", help="what “claim” has printed")
_ARCHIVE = argument("archive", metavar="ARCHIVE", help="the archive of a release, or its unpacked folder")

_FEEDBACK = argument("feedback", metavar="ID", help="public_id of the feedback")

#: Commands that need no server.
OFFLINE = {"records", "verify"}
COMMANDS: dict[str, tuple[str, tuple[Argument, ...], Any]] = {
    "projects": ("list your projects", (), commands.projects),
    "import": ("import a file and wait for the end; print the counts of its records", (
        argument("file", metavar="FILE", help="JSON lines, JSON, CSV, TSV or Parquet; may be packed"),
        argument("--format", help="such as sharegpt, otlp, openai or neutral; by default the server recognises it"),
        argument("--map", action="append", type=pair, default=[], metavar="ROLE=FIELD",
                 help="with --format: the field of a role, if it has another name; may be repeated"),
        flag("--dry-run", "read, check and report, but save nothing"),
        flag("--revise", "change the dialogues whose ids are known and whose content is new"),
        flag("--reopen", "with --revise: also reviewed ones, if a dry run of this file has listed them"),
        argument("--reopen-at", metavar="STAGE", help="with --reopen: where their review starts again; by default the "
                 "first stage"),
        argument("--at-conflicts", help="with --revise: whose value to take where people changed the same place"),
        flag("--suggest-dependencies", "take the records’ dependencies as suggestions"),
        _NO_WAIT,
    ), commands.import_),
    "preview": ("find out what a file has: its format, its mapping and its first dialogues", (
        argument("file", metavar="FILE"), _NO_WAIT), commands.preview),
    "imports": ("list the imports", (), commands.imports),
    "report": ("print the report of an import: what is wrong with which record", (
        argument("id", metavar="ID", help="public_id of the import"),), commands.report),
    "dialogues": ("list the dialogues", (
        argument("--status", help="such as verified"), argument("--stage", help="the key of a stage"),
        argument("--language", help="en or zh"), argument("--q", metavar="WORDS", help="words, or a complete id"),
        argument("--updated-since", metavar="TIME", help="such as 2026-05-31T08:00:00Z"),
        argument("--filter", action="append", type=pair, default=[], metavar="NAME=VALUE",
                 help="another filter: policy, topology, information, owner, problems, check, outdated, field"),
    ), commands.dialogues),
    "dialogue": ("print a dialogue with its document and its findings", (
        argument("id", metavar="ID", help="public_id, or the id in the imported file"),
        flag("--document", "print the document only")), commands.dialogue),
    "claim": ("take your next item and print it; store it in a file for “submit”", (
        argument("--stage", help="the key of a stage; by default the most urgent item of all stages"),
    ), commands.claim),
    "submit": ("submit your review of a claimed item, with its document as it is now in the file", (
        argument("item", metavar="FILE", help="what “claim” has printed, with your changes of “document”; “checklist”, "
                 "“checklist_notes”, “named_errors” and “rulings” may be added beside it"),
        argument("--verdict", help="one of “verdicts” in “stage”, such as approve"),
        argument("--reason", help="why, if the verdict asks for a reason")), commands.submit),
    "skip": ("give a claimed item back, to the end of its queue", (_ITEM,), commands.skip),
    "unclaim": ("give a claimed item back; it keeps its place", (_ITEM,), commands.unclaim),
    "take-back": ("take back the review that you have just submitted, or claim what you have skipped again", (_ITEM,),
                  commands.take_back),
    "goal": ("print your daily goal, or set it", (
        argument("reviews", type=int, nargs="?", metavar="REVIEWS", help="reviews a day"),
        flag("--none", "remove the goal"),
        argument("--person", metavar="ID", help="public_id of a member; for administrators")), commands.goal),
    "goals": ("list everybody’s daily goals", (), commands.goals),
    "training": ("print the settings of the training and your progress, or change the settings", (
        argument("--set", metavar="FILE", help="what this command has printed, with your changes"),
        flag("--again", "begin your next attempt, after you have failed")), commands.training),
    "trainees": ("list how far each person is in the training", (), commands.trainees),
    "feedback": ("list the feedback to you and about your decisions", (
        argument("--updated-since", metavar="TIME", help="such as 2026-05-31T08:00:00Z"),), commands.feedback),
    "reply": ("reply to feedback", (_FEEDBACK, argument("text", metavar="TEXT")), commands.reply),
    "dispute": ("dispute feedback to you, once", (
        _FEEDBACK, argument("text", metavar="REASON", help="why the decision is wrong")), commands.dispute),
    "answer": ("answer the dispute of your decision", (
        _FEEDBACK, argument("verdict", choices=("accept", "keep"), help="accept: the decision was wrong"),
        argument("text", metavar="REASON")), commands.answer),
    "suggest": ("post suggestions: JSON lines with dialogue, place, value, source and perhaps score", (
        argument("file", metavar="FILE"),), commands.suggest),
    "fields": ("print the custom fields, or replace them", (
        argument("--set", metavar="FILE", help="what this command has printed, with your changes"),
        flag("--confirmed", "save them also if answers no longer fit, or verified dialogues lack one")),
        commands.fields),
    "status": ("count the items in each status and stage", (), commands.status),
    "releases": ("list the releases", (), commands.releases),
    "freeze": ("release the verified dialogues and wait for the end", (
        _VERSION, _FORMAT, flag("--require-all", "fail if anything would be left out"),
        flag("--leave-out-gold", "leave out the answers of gold items in use; else these items are retired"),
        _NO_WAIT), commands.freeze),
    "download": ("download the archive of a release and compare its SHA-256", (
        _VERSION, argument("out", metavar="OUT", help="a file, or a folder")), commands.download),
    "score": ("score predictions of models on a release, and print the runs with all figures", (
        _VERSION, argument("file", metavar="FILE", help=".jsonl, .jsonl.gz, .json or .eval; not standard input"),
        argument("--family", help="wild, c3, mmtb, cctu or async; by default as the release’s own format"),
        argument("--model", default="", help="the run of records that name none; by default the name of the file"),
        argument("--provider"), argument("--language", help="en or zh; by default each run’s own"),
        argument("--history", help="calls or answers: what the model saw of earlier tasks"),
        argument("--tool-mode", help="tool_calls or prompt: how it got the tools"),
        argument("--thinking", help="on or off"),
        flag("--strip-thinking", "leave out what is between <think> and </think>"), _NO_WAIT), commands.score),
    "run-model": ("ask a model about a release and wait for the scores; print its run with all figures", (
        _VERSION, argument("endpoint", metavar="ENDPOINT", help="the name of an endpoint of the project"),
        argument("model", metavar="MODEL", help="its name at the endpoint"),
        argument("--name", help="of the run; by default the model’s"), argument("--family"),
        argument("--limit", type=int, help="only the first so many dialogues, cases or composites"),
        argument("--token-budget", type=int, help="tokens at most"), _NO_WAIT), commands.run_model),
    "runs": ("list the runs on a release", (_VERSION, argument("--family")), commands.runs),
    "run": ("print a run with all figures, or what its entries earned", (
        argument("id", metavar="ID", help="public_id of the run"),
        argument("--entries", choices=("all", "wrong", "right"), help="print these entries instead")), commands.run),
    "errata": ("print the errata log of a release", (_VERSION,), commands.errata),
    "reports": ("list the reports of errors in a release", (
        _VERSION, argument("--state", help="open, confirmed or declined")), commands.reports),
    "report-error": ("report an error in an item of a release", (
        _VERSION, argument("item", metavar="ITEM", help="its id in the release"), argument("text", metavar="TEXT"),
        argument("--place", default="", help="a field or a JSON pointer")), commands.report_error),
    "confirm": ("confirm a report of an error", (
        _VERSION, argument("report", metavar="REPORT", help="public_id of the report"),
        argument("--severity", required=True), argument("--reason", required=True),
        argument("--evidence", default=""), argument("--place", help="by default that of the report"),
    ), commands.confirm),
    "decline": ("decline a report of an error", (
        _VERSION, argument("report", metavar="REPORT", help="public_id of the report"),
        argument("--reason", required=True)), commands.decline),
    "records": ("print the records of a release file; needs no server", (
        _ARCHIVE, flag("--messages", "as messages of the OpenAI chat API"),
        argument("--file", default="dialogues.jsonl", metavar="NAME", help="a file of the release; default: neutral")),
        commands.records),
    "verify": ("compare all files of a release with their SHA-256; needs no server", (_ARCHIVE,), commands.verify),
}  # fmt: skip
