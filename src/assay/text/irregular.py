"""English words whose forms no ending tells: `kept` is a form of `keep`."""

from __future__ import annotations

# a base form, then its other forms; those that are as often words of their own (`found`, `saw`, `set`) are left out
_FORMS = """
arise arose arisen|awake awoke|become became|begin began begun|bend bent|bind bound|bite bitten|bleed bled|blow blew blown
break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came
creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed
feel felt|fight fought|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|give gave given|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|know knew known
lay laid|lead led|lean leant|learn learnt|leave left|lend lent|light lit|lose lost|make made|mean meant|meet met|mistake mistook mistaken
overcome overcame|override overrode overridden|overwrite overwrote overwritten|pay paid|rebuild rebuilt|redo redone|rerun reran
rewrite rewrote rewritten|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see seen|seek sought|sell sold|send sent
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept
speak spoke spoken|speed sped|spell spelt|spend spent|spill spilt|spin spun|spoil spoilt|stand stood|steal stole stolen|stick stuck
strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|undo undid undone|wake woke woken|wear wore worn|weep wept|win won|wind wound
withdraw withdrew withdrawn|write wrote written|child children|foot feet|index indices|leaf leaves|man men|matrix matrices|mouse mice
person people|tooth teeth|vertex vertices|woman women
"""
_BASES = {
    form: base
    for line in _FORMS.replace("\n", "|").split("|")
    if line
    for base, *forms in [line.split()]
    for form in forms
}


def base_of(word: str) -> str:
    """The word that an irregular form belongs to; empty for every other word."""
    return _BASES.get(word.lower(), "")
