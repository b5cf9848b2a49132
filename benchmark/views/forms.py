"""Forms of imports, releases and predictions."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from annotator.views.number_fields import WholeNumberField
from annotator.views.text_field import TextField
from benchmark.core.archives.description import LICENCES, OWN_LICENCE
from benchmark.core.composing.drawing import SIZES, Kind
from benchmark.core.files.extensions import LAST_PARTS, SHOWN
from benchmark.core.formats import FORMATS, WRITTEN
from benchmark.core.formats.mapping import roles_of
from benchmark.models import AtConflicts
from benchmark.services.releases.preview import Preview
from benchmark.views.mode_forms import ModeForm

FORMAT_TITLES = {
    "wild": _("wild: WildToolBench sessions"),
    "c3": _("c3: C3-Bench dialogues"),
    "mmtb": _("mmtb: Multi-Mission Tool Bench dialogues"),
    "cctu": _("cctu: constrained cases with their check_code"),
    "async": _("async: AsyncTool single tasks with their toolsets"),
    "bfcl": _("bfcl: BFCL’s tasks; of multi-turn ones, each turn a task"),
    "bfcl_single": _("bfcl_single: BFCL multi-turn tasks, all turns joined into a single task"),
    "nestful": _("nestful: NESTFUL’s nested calls"),
    "neutral": _("neutral: Assay’s own documents"),
    "openai": _("openai: messages of the OpenAI chat API, with or without calls"),
    "sharegpt": _("sharegpt: conversations of ShareGPT and Hermes"),
    "anthropic": _("anthropic: messages with content blocks"),
    "responses": _("responses: items of the OpenAI Responses API"),
    "argilla": _("argilla: Argilla’s records with a chat"),
    "labelstudio": _("labelstudio: Label Studio’s tasks with a chat"),
    "otlp": _("otlp: traces of OpenTelemetry, with the conventions for generative AI"),
    "inspect": _("inspect: logs of Inspect AI"),
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
        required=False,
        label=_("Format"),
        choices=[
            ("", _("Recognise it, and show a preview first")),
            *((name, FORMAT_TITLES.get(name, name)) for name in FORMATS),
        ],
    )
    dry_run = forms.BooleanField(
        required=False, label=_("Dry run"), help_text=_("Reads, checks and reports everything, but saves nothing.")
    )
    revise = forms.BooleanField(
        required=False,
        label=_("Revise known dialogues"),
        help_text=_(
            "A record with a known ID and new content is merged with what people have done. If this is off, the "
            "record is rejected."
        ),
    )
    reopen = forms.BooleanField(
        required=False,
        label=_("Reopen reviewed and verified dialogues"),
        help_text=_(
            "Only those that a dry run of this file has listed. What people entered stays wherever the record didn’t "
            "change, and their review starts again."
        ),
    )
    #: A text, so that the service says which stages there are.
    reopen_at = forms.CharField(
        required=False,
        widget=forms.Select,
        label=_("Reopen at"),
        help_text=_("The stage in which the review of reviewed and verified dialogues starts again."),
    )
    at_conflicts = forms.ChoiceField(
        required=False,
        label=_("If people and the record changed the same place"),
        choices=[("", _("Leave the dialogue as it is")), *AtConflicts.choices],
    )
    suggest_dependencies = forms.BooleanField(
        required=False,
        label=_("Take dependencies as suggestions"),
        help_text=_(
            "If a program made them: the tool graphs start without dependencies, and people accept or refuse each one."
        ),
    )

    def __init__(self, *args: Any, stages: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        """``stages``: key and title of those in which a review can start; no choice between fewer than two is shown."""
        super().__init__(*args, **kwargs)
        if len(stages) < 2:
            del self.fields["reopen_at"]
        else:
            (_key, first), *others = stages
            self.fields["reopen_at"].widget.choices = [("", first), *others]

    def clean(self) -> dict[str, Any]:
        # The page shows the stages only while “revise” is chosen.
        chosen = {"reopen_at": ""} | self.cleaned_data
        return chosen if chosen.get("revise") else chosen | {"reopen_at": ""}


#: Role → label and hint of its field.
ROLES = {
    "id": (_("ID"), _("Without one, the ID is made from the content.")),
    "messages": (_("Messages"), _("A list of messages, or its JSON text.")),
    "tools": (_("Tools"), _("A list of functions, or its JSON text.")),
    "system": (_("System prompt"), _("If it isn’t among the messages.")),
    "user": (_("User’s message"), _("If a record is one question and one answer, without a list of messages.")),
    "assistant": (_("Answer"), _("Goes with the user’s message.")),
}


#: In place of a field's name, which is never empty.
_NONE = ""


class PreviewForm(ImportForm):
    """The format of a previewed file, which field is what, and how to import it."""

    remember = forms.BooleanField(
        required=False,
        label=_("Remember this for files with the same fields"),
        help_text=_("The next preview in this project begins with this format and these fields."),
    )

    def __init__(self, *args: Any, found: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["file"]
        chosen = self.fields["native_format"]
        assert isinstance(chosen, forms.ChoiceField)  # noqa: S101 - declared above
        chosen.required = True
        chosen.choices = [("", _("Choose a format")), *((name, FORMAT_TITLES.get(name, name)) for name in FORMATS)]
        # An unknown file may be questions and answers, which openai can read.
        own = FORMATS[found["format"] or "openai"].roles
        self._columns = columns = [name for name, _example in found["columns"]]
        for role in roles_of(found["format"] or "openai"):
            label, hint = ROLES[role]
            there = own.get(role) in columns
            choices = [(_NONE, _("Not in the file")), *((name, name) for name in columns)]
            initial = found["mapping"].get(role, own[role] if there else _NONE)
            self.fields[f"role_{role}"] = forms.ChoiceField(
                required=False, label=label, help_text=hint, choices=choices, initial=initial
            )

    @property
    def mapping(self) -> dict[str, str]:
        """The mapping of a valid form: roles of fields with other names than in the chosen format."""
        name = self.cleaned_data["native_format"]
        chosen = {role: self.cleaned_data.get(f"role_{role}", _NONE) for role in roles_of(name)}
        own = FORMATS[name].roles
        unwanted = {role: _NONE for role, column in chosen.items() if not column and own.get(role) in self._columns}
        return unwanted | {role: column for role, column in chosen.items() if column not in (_NONE, own.get(role))}

    @property
    def role_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith("role_")]


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
    per_stratum = WholeNumberField(
        label=_("Composites in each stratum"),
        min_value=1,
        max_value=1_000,
        initial=1,
        help_text=_("A stratum is a category, or for cross composites a set of different categories."),
    )
    seed = WholeNumberField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        help_text=_("The same seed gives the same draw from the same tasks."),
    )


def _at_most(count: int) -> str:
    sentence = ngettext("At most %(count)s dialogue goes in.", "At most %(count)s dialogues go in.", count)
    return sentence % {"count": intcomma(count)}


class ReleaseForm(forms.Form):
    version = forms.CharField(
        max_length=40,
        label=_("Version"),
        help_text=_("For example 1.0 or 2026-05. Each version can be used only once."),
    )
    native_format = forms.ChoiceField(
        label=_("Native format"),
        choices=[(name, FORMAT_TITLES.get(name, name)) for name in WRITTEN],
        help_text=_("Every release also contains the neutral documents."),
    )
    leave_out_gold = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Leave out the dialogues of gold items in use"),
        help_text=_("The gold items stay in use. The release then lists no draws, because these could reveal them."),
    )
    require_all = forms.BooleanField(
        required=False,
        label=_("Fail if anything would be left out"),
        help_text=_("Otherwise the release lists what is left out."),
    )

    def __init__(self, *args: Any, preview: Preview | None = None, **kwargs: Any) -> None:
        """``preview``: of the release; None for people who can't freeze one."""
        super().__init__(*args, **kwargs)
        verified, gold_count = (preview.verified, preview.gold_count) if preview else (0, 0)
        if preview and preview.last_format:
            self.fields["native_format"].initial = preview.last_format
        if not gold_count:
            del self.fields["leave_out_gold"]
            return
        retires = ngettext(
            "%(count)s gold item is retired, because anyone can then read its answer.",
            "%(count)s gold items are retired, because anyone can then read their answers.",
            gold_count,
        ) % {"count": intcomma(gold_count)}
        self.fields["leave_out_gold"].widget.attrs |= {
            "data-confirm-on": _at_most(verified - gold_count),
            "data-confirm-off": f"{_at_most(verified)} {retires}",
        }


class ReleaseSettingsForm(forms.Form):
    licence = forms.ChoiceField(
        required=False,
        label=_("Licence"),
        choices=[
            ("", _("None yet")),
            *((name, f"{name}: {licence.title}") for name, licence in LICENCES.items()),
            (OWN_LICENCE, _("Own text")),
        ],
        help_text=_("Without a licence, others may not use the data."),
    )
    licence_text = TextField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        label=_("Text of your own licence"),
        help_text=_("Only for the choice “Own text”. The release has it in a file of its own."),
    )
    authors = TextField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        label=_("Authors"),
        help_text=_("One a line: Family name, given name; ORCID iD; affiliation. Only the name is required."),
    )
    citation = TextField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        label=_("Citation"),
        help_text=_("BibTeX. If empty, it is made from the name, the authors and the version."),
    )
    limits = TextField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        label=_("Limits"),
        help_text=_("What the data doesn’t cover, and what it must not be used for."),
    )
    demographics = TextField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        label=_("Annotators"),
        help_text=_("Who reviewed the dialogues: languages, training, pay and so on. Name no person without consent."),
    )
    seen = WholeNumberField(widget=forms.HiddenInput)


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
