"""Whether a message is a question or a command, by simple rules about its words (docs/dataset-statistics.md)."""

import re
from typing import Literal

Form = Literal["question", "command", "other"]
FORMS: tuple[Form, ...] = ("question", "command", "other")

_QUESTION_LIST = (
    "what what's who who's whom whose when where where's which why how how's is are am was were do does did can could "
    "will would shall should may might has have had isn't aren't don't doesn't didn't can't couldn't won't wouldn't"
)
_QUESTION_WORDS = frozenset(_QUESTION_LIST.split())
#: Words of politeness and order, which may come before the first word that counts.
_OPENER_LIST = (
    "please kindly ok okay hi hello hey so and also now then next great good perfect nice thanks thank you first "
    "finally just well but"
)
_OPENERS = frozenset(_OPENER_LIST.split())
_COMMAND_LIST = (
    "add alert allow analyse analyze answer append apply arrange ask assess assign book build buy calculate call "
    "cancel change check choose clear close collect combine compare compute confirm connect convert copy count "
    "create deactivate delete describe determine disable dispatch display download draft draw enable ensure enter "
    "estimate evaluate execute explain export extract fetch filter find fix forward gather generate get give go "
    "help identify import increase inform initiate inspect install keep let let's list load locate log look make "
    "mark measure merge message move name notify obtain open order organise organize pause pay perform place plan "
    "play populate post predict prepare print proceed process provide publish pull put rate read recommend record "
    "reduce register remind remove rename reply report reserve reset resize restart retrieve return reverse "
    "review run save scan schedule search select send set share show simulate solve sort start stop submit "
    "subscribe suggest summarise summarize switch take tell track transfer translate turn unlock unsubscribe "
    "update upgrade upload use validate verify view watch write"
)
_COMMANDS = frozenset(_COMMAND_LIST.split())
_CHINESE_QUESTION = re.compile(
    "什么|怎么|怎样|如何|为何|哪|谁|多少|几(?!乎)|是否|能否|可否|有没有|能不能|可不可以|是不是|要不要|吗|呢[。！!]?$"
)
_CHINESE_COMMAND = re.compile(
    "(?:那么?|好的?|然后|接着|现在|另外|还有|同时|最后|首先|再|，|,|\\s){0,4}"
    "(?:请|麻烦|帮|给我|为我|替我|把|将|让|查|找|搜|订|预订|预约|买|购|看|列|推荐|告诉|通知|发|设|添加|增加|删|取消|创建|新建|"
    "生成|计算|翻译|打开|关闭|播放|暂停|安排|提醒|更新|修改|改|获取|显示|分析|比较|转换|保存|下载|上传|写|画|做|记录|总结)"
)
_PLEASE = re.compile(r"\b(?:please|kindly)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?")
_SENTENCE_END = re.compile(r"[.!;。！；\n]+")
#: Characters that are read of a message, and of each sentence for its first word.
_MAX_READ, _MAX_START = 20_000, 200


def form_of(text: str) -> Form:
    """Return the form of a message: that of its words, not of what it is meant to do.

    A question has a question mark, begins with an English question word or auxiliary verb, or has a Chinese question
    word. Otherwise it is a command if it says please, or if one of its sentences begins with the plain form of an
    English verb of doing, with such a Chinese verb, or with a word of asking (请, 帮). Words of politeness and order at
    the beginning do not count.
    """
    text = text[:_MAX_READ]
    if "?" in text or "？" in text or _first_word(text) in _QUESTION_WORDS or _CHINESE_QUESTION.search(text):
        return "question"
    if _PLEASE.search(text):
        return "command"
    for sentence in _SENTENCE_END.split(text):
        if _first_word(sentence) in _COMMANDS or _CHINESE_COMMAND.match(sentence):
            return "command"
    return "other"


def _first_word(sentence: str) -> str:
    words = (word.replace("’", "'") for word in _WORD.findall(sentence[:_MAX_START].casefold()))
    return next((word for word in words if word not in _OPENERS), "")
