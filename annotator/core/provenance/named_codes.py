"""Codes and names for the same language, currency, country, state, city or unit.

Only small tables of what everybody writes in the same way: ISO 639-1, 3166-1 and 4217, US states, the codes of large
airports. People mark all other inferences as inferable, with the reason.
"""

import re
from functools import lru_cache

from annotator.core.provenance.number_words import Span

#: One group a line: codes and names that may stand for each other, in lower case.
_GROUPS = """
ar|arabic|阿拉伯语
bg|bulgarian|保加利亚语
cs|czech|捷克语
da|danish|丹麦语
de|german|德语|德文
el|greek|希腊语
en|english|英语|英文
es|spanish|西班牙语
fa|persian|farsi|波斯语
fi|finnish|芬兰语
fr|french|法语|法文
he|hebrew|希伯来语
hi|hindi|印地语
hu|hungarian|匈牙利语
id|indonesian|印尼语
it|italian|意大利语
ja|japanese|日语|日文
ko|korean|韩语|韩文
la|latin|拉丁语
nl|dutch|荷兰语
no|norwegian|挪威语
pl|polish|波兰语
pt|portuguese|葡萄牙语
ro|romanian|罗马尼亚语
ru|russian|俄语|俄文
sv|swedish|瑞典语
th|thai|泰语
tr|turkish|土耳其语
uk|ukrainian|乌克兰语
vi|vietnamese|越南语
zh|zh-cn|chinese|mandarin|中文|汉语
usd|us dollars|us dollar|american dollars|dollars|dollar|bucks|$|美元|美金
eur|euros|euro|€|欧元
jpy|japanese yen|yen|日元
gbp|british pounds|pounds|pound|sterling|£|英镑
cny|rmb|yuan|renminbi|人民币|元
inr|indian rupees|rupees|rupee|₹|卢比
chf|swiss francs|francs|瑞士法郎
krw|won|₩|韩元
aud|australian dollars|australian dollar|aussie dollars|澳元
cad|canadian dollars|canadian dollar|加元
nzd|new zealand dollars|新西兰元
hkd|hong kong dollars|港币|港元
sgd|singapore dollars|新加坡元|新币
mxn|mexican pesos|pesos|墨西哥比索
brl|brazilian reais|reais|雷亚尔
sek|swedish kronor|kronor|瑞典克朗
nok|norwegian kroner|挪威克朗
dkk|danish kroner|丹麦克朗
pln|zloty|zlotys|złoty|兹罗提
thb|baht|泰铢
try|turkish lira|lira|里拉
rub|roubles|rubles|卢布
zar|rand|兰特
btc|bitcoins|bitcoin|比特币
eth|ethereum|ether|以太坊
ltc|litecoin|莱特币
xrp|ripple
ar|arg|argentina|argentinian|argentine|阿根廷
at|aut|austria|austrian|奥地利
au|aus|australia|australian|澳大利亚|澳洲
be|bel|belgium|belgian|比利时
br|bra|brazil|brazilian|巴西
ca|can|canada|canadian|加拿大
ch|che|switzerland|swiss|瑞士
cn|chn|china|chinese|中国
de|deu|germany|german|德国
dk|dnk|denmark|danish|丹麦
eg|egy|egypt|egyptian|埃及
es|esp|spain|spanish|西班牙
fi|fin|finland|finnish|芬兰
fr|fra|france|french|法国
gb|gbr|uk|united kingdom|great britain|britain|british|england|english|英国
gr|grc|greece|greek|希腊
hk|hkg|hong kong|香港
id|idn|indonesia|indonesian|印度尼西亚|印尼
ie|irl|ireland|irish|爱尔兰
il|isr|israel|israeli|以色列
in|ind|india|indian|印度
it|ita|italy|italian|意大利
jp|jpn|japan|japanese|日本
kr|kor|south korea|korea|korean|韩国
mx|mex|mexico|mexican|墨西哥
nl|nld|netherlands|holland|dutch|荷兰
no|nor|norway|norwegian|挪威
nz|nzl|new zealand|新西兰
pl|pol|poland|polish|波兰
pt|prt|portugal|portuguese|葡萄牙
ru|rus|russia|russian|俄罗斯
se|swe|sweden|swedish|瑞典
sg|sgp|singapore|新加坡
th|tha|thailand|thai|泰国
tr|tur|turkey|turkish|土耳其
tw|twn|taiwan|台湾
ua|ukr|ukraine|ukrainian|乌克兰
us|usa|united states|america|american|u.s.|the states|美国
vn|vnm|vietnam|vietnamese|越南
za|zaf|south africa|南非
al|alabama
ak|alaska
az|arizona
ar|arkansas
ca|california|加州
co|colorado
ct|connecticut
fl|florida|佛罗里达
ga|georgia
hi|hawaii|夏威夷
il|illinois
in|indiana
ma|massachusetts
md|maryland
mi|michigan
mn|minnesota
mo|missouri
nc|north carolina
nj|new jersey
nv|nevada
ny|new york
oh|ohio
or|oregon
pa|pennsylvania
tn|tennessee
tx|texas|德州
ut|utah
va|virginia
wa|washington
wi|wisconsin
ams|amsterdam|阿姆斯特丹
atl|atlanta
bcn|barcelona|巴塞罗那
ber|berlin|柏林
bkk|bangkok|曼谷
bom|mumbai|孟买
bos|boston|波士顿
can|guangzhou|广州
cdg|ory|par|paris|巴黎
cph|copenhagen
ctu|tfu|chengdu|成都
del|delhi|new delhi|德里
den|denver
dfw|dallas
dub|dublin
dxb|dubai|迪拜
fco|rom|rome|罗马
fra|frankfurt|法兰克福
hkg|hong kong|香港
hnd|nrt|tyo|tokyo|东京
iah|houston
icn|sel|seoul|首尔
ist|istanbul
jfk|lga|ewr|nyc|new york|new york city|纽约
las|las vegas|拉斯维加斯
lax|los angeles|洛杉矶
lhr|lgw|lon|london|伦敦
lis|lisbon|里斯本
mad|madrid|马德里
mel|melbourne|墨尔本
mia|miami|迈阿密
muc|munich|慕尼黑
mxp|mil|milan|米兰
ord|mdw|chi|chicago|芝加哥
pek|pkx|bjs|beijing|北京
pvg|sha|shanghai|上海
sea|seattle|西雅图
sfo|san francisco|旧金山
sin|singapore|新加坡
svo|mow|moscow|莫斯科
syd|sydney|悉尼
szx|shenzhen|深圳
hgh|hangzhou|杭州
nkg|nanjing|南京
xiy|xi'an|xian|西安
wuh|wuhan|武汉
ckg|chongqing|重庆
vie|vienna|维也纳
yvr|vancouver|温哥华
yyz|toronto|多伦多
zrh|zurich|苏黎世
c|celsius|metric|摄氏度|摄氏
f|fahrenheit|imperial|华氏度|华氏
km|kilometers|kilometres|公里
mi|miles|英里
kg|kilograms|kilos|公斤|千克
lb|lbs|pounds|磅
m|male|man|男
f|female|woman|女
"""
_LINES = [line.split("|") for line in _GROUPS.strip().split("\n")]
_BY_MEMBER: dict[str, list[str]] = {}
for _line in _LINES:
    for _member in _line:
        _BY_MEMBER.setdefault(_member, []).extend(other for other in _line if other != _member)
#: Names as short as a code.
_SHORT = frozenset({"yen", "won", "man"})
#: Codes of three letters that mean a whole city or country, not one of its airports.
_WHOLE = frozenset({"nyc", "lon", "par", "rom", "mil", "mow", "tyo", "bjs", "sel", "chi", "usa"})
#: No member is longer.
_LONGEST = max(map(len, _BY_MEMBER))


def is_named(folded_value: str) -> bool:
    """Return whether a value is a code or name that has others."""
    return len(folded_value) <= _LONGEST + 3 and _pattern(folded_value) is not None


def named_code(folded_value: str, folded_text: str, raw: str = "") -> Span | None:
    """Return the span in a folded text that names what a code or name such as "pt", "pt-br" or "Paris" means.

    ``raw``: the text as written, in which a code of a whole city or country may be in capitals: NYC is also JFK.
    """
    pattern = _pattern(folded_value) if len(folded_value) <= _LONGEST + 3 else None
    match = pattern.search(folded_text) if pattern else None
    if match is None and not raw.isupper():
        cities = [code.upper() for code in _BY_MEMBER.get(folded_value, ()) if code in _WHOLE]
        match = re.search(rf"\b(?:{'|'.join(cities)})\b", raw) if cities else None
    return match.span() if match else None


@lru_cache(maxsize=2048)
def _pattern(folded_value: str) -> re.Pattern[str] | None:
    """Return the pattern of the other names. Codes of up to three letters are no words: “in” is not always India."""
    others = _BY_MEMBER.get(folded_value) or _BY_MEMBER.get(re.split("[-_]", folded_value, maxsplit=1)[0], [])
    words = [one for one in others if len(one) > 3 or not (one.isascii() and one.isalpha()) or one in _SHORT]
    if not words:
        return None
    return re.compile(
        "|".join(
            rf"\b{re.escape(word)}\b" if word[0].isascii() and word[0].isalpha() else re.escape(word) for word in words
        )
    )
