"""Forms and spellings of English words: `kept` and keep, `colour` and color, `criteria` and criterion.

Only questions are expanded: the index has the terms that were written, and a word of a question matches any of its
variants as if they were one term. A rule may produce spellings that do not exist; nothing matches those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from assay.text.terms import stem


def word_variants(word: str) -> tuple[str, ...]:
    """Return the stems of a word, its other forms and spellings; that of the word itself is first.

    The word is one of `terms.words`, not an identifier of several.
    """
    return _variants(word.lower())


@lru_cache(maxsize=1 << 14)
def _variants(word: str) -> tuple[str, ...]:
    family = (word, *_FAMILIES.get(word, ()))
    spellings = [spelling for form in family for spelling in _spellings(form)]
    return tuple(dict.fromkeys(map(stem, (*family, *spellings))))


# Irregular forms

# base form, then its other forms, without those that are common words themselves (`found`, `saw`, `set`)
_VERBS = """
arise arose arisen|awake awoke|beat beaten|become became|befall befell befallen|begin began begun|bend bent|bind bound
bite bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built|burn burnt|buy bought
catch caught|choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|flee fled
fling flung|fly flew flown|forbid forbade forbidden|foresee foresaw foreseen|forget forgot forgotten
forgive forgave forgiven|forgo forwent forgone|freeze froze frozen|give gave given|go went gone|grow grew grown
hang hung|hear heard|hide hid hidden|hold held|interweave interwove interwoven|keep kept|kneel knelt|know knew known
lay laid|lead led|lean leant|leap leapt|learn learnt|leave left|lend lent|light lit|lose lost|make made|mean meant
meet met|mislead misled|mistake mistook mistaken|misunderstand misunderstood|outgrow outgrew outgrown
overcome overcame|overlay overlaid|override overrode overridden|overrun overran|oversee oversaw overseen
overtake overtook overtaken|overwrite overwrote overwritten|pay paid|prove proven|rebind rebound|rebuild rebuilt
redo redone|redraw redrew redrawn|remake remade|repay repaid|rerun reran|resell resold|resend resent|rethink rethought
rewind rewound|rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see seen
seek sought|sell sold|send sent|sew sewn|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk
sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|sling slung|speak spoke spoken|speed sped|spell spelt
spend spent|spill spilt|spin spun|spit spat|spoil spoilt|spring sprang sprung|stand stood|steal stole stolen
stick stuck|strike struck|string strung|strive strove striven|swear swore sworn|sweep swept|swell swollen
swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
tread trod trodden|unbind unbound|undergo underwent undergone|understand understood|undertake undertook undertaken
undo undid undone|unwind unwound|uphold upheld|wake woke woken|wear wore worn|weave wove woven|weep wept|win won
wind wound|withdraw withdrew withdrawn|withhold withheld|withstand withstood|write wrote written
"""
_NOUNS = """
child children|foot feet|goose geese|half halves|knife knives|leaf leaves|loaf loaves|man men|mouse mice|ox oxen
person people|shelf shelves|thief thieves|tooth teeth|wolf wolves|woman women|index indices|matrix matrices
vertex vertices|vortex vortices|appendix appendices|codex codices|helix helices|axis axes|analysis analyses
crisis crises|diagnosis diagnoses|ellipsis ellipses|emphasis emphases|hypothesis hypotheses|parenthesis parentheses
synopsis synopses|synthesis syntheses|thesis theses|criterion criteria|phenomenon phenomena|automaton automata
schema schemata|lemma lemmata|stigma stigmata|formula formulae|antenna antennae|focus foci|locus loci|nucleus nuclei
radius radii|stimulus stimuli|syllabus syllabi|corpus corpora|genus genera|opus opera|quantum quanta|spectrum spectra
stratum strata|memorandum memoranda|addendum addenda|erratum errata|alias aliases|bus buses|canvas canvases|gas gases
iris irises|lens lenses|quiz quizzes
"""
# forms that usually mean something else: they stand for their verb, but it does not stand for them
_AMBIGUOUS = frozenset(
    ["bound", "broke", "fell", "felt", "genera", "left", "lit", "men", "met", "opera", "rebound", "resent", "rose",
     "rung", "shot", "spat", "spoke", "stole", "thought", "unbound", "won", "wound", "wove"]
)  # fmt: skip


def _rows(table: str) -> Iterator[list[str]]:
    return (row.split() for row in table.replace("\n", "|").split("|") if row)


def _families() -> dict[str, tuple[str, ...]]:
    """Return the other forms of each word: a form has its base and its siblings, a base its forms."""
    families: dict[str, tuple[str, ...]] = {}
    for base, *forms in [*_rows(_VERBS), *_rows(_NOUNS)]:
        shown = [form for form in forms if form not in _AMBIGUOUS]
        families[base] = (*families.get(base, ()), *shown)
        for form in forms:
            families[form] = (base, *shown)
    return families


_FAMILIES = _families()


def _both_ways(table: str) -> dict[str, tuple[str, ...]]:
    """Return each entry of a table of pairs with its counterparts."""
    out: dict[str, tuple[str, ...]] = {}
    for first, second in _rows(table):
        out[first] = (*out.get(first, ()), second)
        out[second] = (*out.get(second, ()), first)
    return out


# British and American spelling

# beginnings of words that differ; what follows is the same
_BEGINNINGS = _both_ways("""
colour color|behaviour behavior|favour favor|honour honor|labour labor|neighbour neighbor|flavour flavor|humour humor
rumour rumor|harbour harbor|endeavour endeavor|armour armor|vapour vapor|rigour rigor|odour odor|saviour savior
splendour splendor|tumour tumor|candour candor|clamour clamor|glamour glamor|savour savor|parlour parlor|valour valor
vigour vigor|demeanour demeanor|grey gray|discolour discolor|misbehaviour misbehavior|unfavour unfavor
dishonour dishonor|artefact artifact|aluminium aluminum|mould mold|plough plow|smoulder smolder|sceptic skeptic
encyclopaedi encyclopedi|archaeo archeo|aesthetic esthetic|judgement judgment|acknowledgement acknowledgment
enrolment enrollment|fulfil fulfill|instalment installment|skilful skillful|wilful willful|distil distill
instil instill|manoeuvr maneuver|focuss focus|biass bias|benefitt benefit|targett target|programme program|disc disk
jewellery jewelry|tyre tire|queueing queuing|analys analyz|catalys catalyz|paralys paralyz|practis practic
licenc licens|defenc defens|offenc offens|pretenc pretens|maths math|orientat orient|adaptor adapter
convertor converter|adviser advisor|dependanc dependenc
""")
_SHORTEST, _LONGEST = (choose(map(len, _BEGINNINGS)) for choose in (min, max))
# roots and pairs of endings that they take
_DOUBLED = (
    "barrel|bevel|cancel|carol|channel|chisel|counsel|dial|duel|enamel|equal|fuel|funnel|grovel|initial|jewel"
    "|label|level|libel|marshal|marvel|medal|metal|model|panel|parallel|pedal|pencil|quarrel|relabel|remodel"
    "|revel|rival|shovel|shrivel|signal|spiral|stencil|swivel|symbol|total|towel|travel|trial|tunnel|unmarshal"
    "|unravel|yodel"
)
_METRE = "cent|fib|theat|calib|lust|spect|sab|somb|meag|lit|(?:centi|kilo|micro|milli|nano)?met"
_ENDINGS = (
    (
        r"\w{3,}",
        "ise ize|ises izes|ised ized|iser izer|isers izers|ising izing|isation ization|isations izations|isable izable",
    ),
    (_METRE, "re er|res ers|red ered|ring ering"),
    ("anal|catal|dial|epil|homol|monol", "ogue og|ogues ogs|ogued oged|oguing oging"),
    (_DOUBLED, "led ed|ling ing|lings ings|ler er|lers ers|lable able|lation ation|lations ations|lor or|lors ors"),
    (r"\w{2,}", "u us"),  # menus, CPUs: the stemmer keeps the s of `status`
)
_SERIES = tuple(
    (re.compile(f"({roots})({'|'.join(pairs)})"), pairs) for roots, table in _ENDINGS for pairs in [_both_ways(table)]
)


def _spellings(word: str) -> Iterator[str]:
    """Yield a word in other spellings."""
    for size in range(min(len(word), _LONGEST), _SHORTEST - 1, -1):
        if others := _BEGINNINGS.get(word[:size]):
            yield from (other + word[size:] for other in others)
            break
    for pattern, pairs in _SERIES:
        if match := pattern.fullmatch(word):
            yield from (match[1] + other for other in pairs[match[2]])


# Contractions

_AUXILIARIES = "ai|are|ca|could|dare|did|do|does|had|has|have|is|might|must|need|ought|sha|should|was|were|wo|would"
_APOSTROPHE = "['’‘ʼ＇]"
_CONTRACTION = re.compile(
    rf"\b(?:{_AUXILIARIES})n{_APOSTROPHE}?t\b|(?<=\w){_APOSTROPHE}(?:s|d|m|ll|ve|re)\b",
    re.IGNORECASE,
)


def without_contractions(text: str) -> str:
    """Remove contractions and possessive endings: `I can't open the pump's valve` → I open the pump valve."""
    return _CONTRACTION.sub(" ", text)
