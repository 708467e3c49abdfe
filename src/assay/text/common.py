"""The words that every English text has, whatever it is about: they tell nothing of a question and support nothing in an answer."""

from __future__ import annotations

import re

from assay.text.terms import terms

_WORD = re.compile(r"[^\W_]+")
COMMON = frozenset(
    _WORD.findall(
        """
        a about actually after again all also always am an and another any anybody anyone anything are aren as at be because been before
        being best better between both but by can cannot could d did didn different do does doesn doing don done during each eight either
        eleven else even ever every everybody everything exactly few fifteen first five for four from get gets getting give gives go goes
        going good got had happen happens has have having he her here him his how however hundred i if in instead into is isn it its
        itself just know last least less let like ll long look looks lot m made make makes many may me mean means might more most much
        must my myself need needs never nine no nor not nothing now of off often on once one ones only or other others otherwise our out
        over own per please possible rather re really s same say second see seven several shall she should since six so some somebody
        someone something still such sure t take takes tell ten than that the their them then there these they thing things third this
        those though thousand three through to together too try trying twelve twenty two under until up us use used useful uses using ve
        very via want wanted wants was wasn way ways we well were what when where whether which while who whole whom whose why will with
        within without won work works would yes yet you your zero
        """
    )
)


def telling_terms(text: str) -> set[str]:
    """The terms of the words that are not common."""
    return {term for word in _WORD.findall(text) if word.lower() not in COMMON for term in terms(word)}
