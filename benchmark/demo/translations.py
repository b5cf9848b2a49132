"""A dialogue of the demo that a model translates into Chinese. Its answers are written here; no model is asked."""

import json
from collections.abc import Iterator

from annotator.models import Dialogue, User
from annotator.services.jobs import jobs
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.records import Recorded
from benchmark.demo.generation_script import MODEL
from benchmark.models import Generation
from benchmark.services.generation.translating import start_translation

#: English → Chinese.
_WORDS = {
    "Bergen": "卑尔根",
    "Wednesday": "周三",
    "rainy": "有雨",
    "Museum of city history": "城市历史博物馆",
    "Museum of photography": "摄影博物馆",
    "Museum of design": "设计博物馆",
    "Thursday": "周四",
    "What will the weather be like in Bergen on Wednesday?": "卑尔根周三天气怎么样？",
    "Please look up the forecast for Bergen on Wednesday.": "请查一下卑尔根周三的天气预报。",
    "I am off to Bergen on Wednesday and wonder what weather to expect there.": (
        "我周三要去卑尔根，想知道那里会是什么天气。"
    ),
    "On Wednesday it will be rainy, at 30 degrees.": "周三有雨，气温30度。",
    "Now book me a museum there on Thursday.": "现在帮我订一家那里的博物馆，周四去。",
    "Could you find a museum there and reserve it for Thursday?": "能在那里找一家博物馆，帮我预订周四的吗？",
    "I want to see a museum in that city on Thursday; please arrange it.": (
        "周四我想在那座城市参观一家博物馆，请安排一下。"
    ),
    "I booked Museum of city history (M3010) for Thursday. Your confirmation is V301-THU.": (
        "已为您预订周四的城市历史博物馆（M3010），确认号是V301-THU。"
    ),
}
#: A translation that is refused, because it lacks the number.
_SLIP = {"On Wednesday it will be rainy, at 30 degrees.": "周三有雨，气温三十度。"}


def translate(actor: User, dialogue: Dialogue) -> Generation:
    """Translate a dialogue whose texts are all in the table."""
    generation = start_translation(
        actor=actor, dialogue=dialogue, language="zh", records=list(_records(dialogue)), wake_worker=False
    )
    jobs.run(generation.job_id or 0)
    return Generation.objects.select_related("dialogue").get(pk=generation.pk)


def _records(dialogue: Dialogue) -> Iterator[Recorded]:
    """Yield the answers to the values, to what people say, and to the text that was refused."""
    values = [one for one in _WORDS if not one.endswith((".", "?"))]
    spoken = [one for one in _WORDS if one not in values]
    answers = (
        {f"v{number}": _WORDS[one] for number, one in enumerate(values, 1)},
        {f"s{number}": (_WORDS | _SLIP)[one] for number, one in enumerate(spoken, 1)},
        {f"s{number}": _WORDS[one] for number, one in enumerate(spoken, 1) if one in _SLIP},
    )
    for number, texts in enumerate(answers, 1):
        answer = json.dumps({"texts": texts}, ensure_ascii=False)
        yield Recorded(f"{dialogue.external_id}-zh", number, "", answer, Purpose.TRANSLATION.value, MODEL)
