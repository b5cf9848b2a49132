"""Forms of imports, releases and predictions."""

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from benchmark.core.composing.drawing import SIZES, Kind
from benchmark.core.files.extensions import LAST_PARTS, SHOWN
from benchmark.core.formats import FORMATS
from benchmark.views.mode_forms import ModeForm

FORMAT_TITLES = {
    "wild": _("wild: WildToolBench sessions"),
    "c3": _("c3: C3-Bench dialogues"),
    "mmtb": _("mmtb: Multi-Mission Tool Bench dialogues"),
    "cctu": _("cctu: constrained cases with their check_code"),
    "async": _("async: AsyncTool single tasks with their toolsets"),
    "bfcl": _("bfcl: BFCL multi-turn tasks, each turn a task"),
    "bfcl_single": _("bfcl_single: BFCL multi-turn tasks, all turns joined into a single task"),
    "nestful": _("nestful: NESTFUL’s nested calls"),
    "neutral": _("neutral: Assay’s own documents"),
    "openai": _("openai: messages with tool calls"),
}


class ImportForm(forms.Form):
    #: For the ``accept`` attribute of the file's input.
    accept = ",".join(LAST_PARTS)

    file = forms.FileField(
        label=_("Candidate file"),
        help_text=format_lazy(
            _("JSON lines, a JSON list, a table, or an archive of these: {endings}. The file is stored on the server."),
            endings=SHOWN,
        ),
        allow_empty_file=True,
    )
    native_format = forms.ChoiceField(
        label=_("Format"), choices=[(name, FORMAT_TITLES.get(name, name)) for name in FORMATS]
    )
    dry_run = forms.BooleanField(
        required=False, label=_("Dry run"), help_text=_("Reads, checks and reports everything, but saves nothing.")
    )
    revise = forms.BooleanField(
        required=False,
        label=_("Revise known dialogues"),
        help_text=_(
            "A record with a known ID and new content becomes a new revision. If this is off, the record is rejected."
        ),
    )
    reopen = forms.BooleanField(
        required=False,
        label=_("Reopen dialogues that people have worked on"),
        help_text=_(
            "Also revises dialogues that are verified, reviewed or edited, if a dry run of this file has listed them. "
            "The record’s labels and dependencies replace theirs, and their review starts again."
        ),
    )


class ComposeForm(forms.Form):
    kind = forms.ChoiceField(
        label=_("Kind"),
        choices=[
            (Kind.SIMILAR.value, _("Similar: all tasks of one category")),
            (Kind.CROSS.value, _("Cross: each task of a different category")),
        ],
    )
    size = forms.TypedChoiceField(
        label=_("Tasks in each composite"), coerce=int, choices=[(size, str(size)) for size in SIZES]
    )
    per_stratum = forms.IntegerField(
        label=_("Composites in each stratum"),
        min_value=1,
        max_value=1_000,
        initial=1,
        help_text=_("A stratum is a category, or for cross composites a set of different categories."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        help_text=_("The same seed gives the same draw from the same tasks."),
    )


class ReleaseForm(forms.Form):
    version = forms.CharField(
        max_length=40,
        label=_("Version"),
        help_text=_("For example 1.0 or 2026-05. Each version can be used only once."),
    )
    native_format = forms.ChoiceField(
        label=_("Native format"),
        choices=[(name, FORMAT_TITLES.get(name, name)) for name in FORMATS],
        help_text=_("Every release also contains the neutral documents."),
    )
    require_all = forms.BooleanField(
        required=False,
        label=_("Fail if anything would be left out"),
        help_text=_("Otherwise the release lists what is left out."),
    )


class PredictionForm(ModeForm):
    file = forms.FileField(
        label=_("Predictions"),
        help_text=_(
            "JSON lines (.jsonl, .jsonl.gz): neutral, the published code’s result file, or messages of the OpenAI chat "
            "API; or a log of Inspect AI (.eval, .json)."
        ),
        allow_empty_file=True,
    )
    model = forms.CharField(
        max_length=120,
        required=False,
        label=_("Model"),
        help_text=_("The run of records that name none. Blank: the name of the file."),
    )
    provider = forms.CharField(max_length=120, required=False, label=_("Provider"))
    strip_thinking = forms.BooleanField(
        required=False,
        label=_("Leave out <think>…</think>"),
        help_text=_("Thoughts in the answers are not scored."),
    )

    field_order = ("file", "family", "model", "provider")
