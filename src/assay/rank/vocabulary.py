"""Vocabulary: stop words, task verbs and abbreviations."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text table."""
    return frozenset(text.split())


_ENGLISH = """
a about above across again against all already also although always am among an and another any anything are aren around as at
be became because become been being below between both but by ca came can cannot could currently did do does doing done down due during
each either else especially etc even ever every everything for from further gets given goes had has have having he hence her here his how however
i if in instead into is it its itself just least less let like likely ll longer made main make makes many may maybe me might more most much must my
near need needed needs neither never no nor not nothing now of off often on once one only onto or other others otherwise our out over own
per perhaps please possible properly rather re really regardless same see seem seems several shall she should since so some something still such
take taken takes than that the their them themselves then there these they thing things this those though through throughout thus to together too
toward two under unless until up upon us use used uses using usually ve very via vs want wants was way ways we well were what whatever when whenever
where whether which while who whole whose why will with within without won would yet you your
eg ie
"""
# generic programming words: they do not distinguish symbols
_PROGRAMMING = "arg bool const def err fn func get impl int let new nil null obj ret self set str string this tmp type types val var void"

# imperatives of tasks: say what to do, never where
TASK_VERBS = word_set("""
add adds added adding adjust allow allows build change changes changed changing create creates created creating enable ensure enhance
expose extend fix fixes fixed fixing implement implements implemented implementing improve include integrate introduce modify provide
refactor refactored refactoring remove removes removed removing rename replace rewrite simplify support supports supported supporting
tweak update updates updated updating write
""")
# verbs that open a task but also name program behaviour: never filtered, they only point at the noun after them
NAMING_VERBS = word_set("""
clean compute configure connect convert debug delete deprecate detect disable document drop emit expand explain extract find generate handle
investigate locate log merge migrate move optimize optimise parse port prevent register resolve restore return reuse show split store
track understand upgrade validate verify wire wrap
""")
ACTION_VERBS = TASK_VERBS | NAMING_VERBS

STOP_WORDS = word_set(_ENGLISH) | word_set(_PROGRAMMING) | TASK_VERBS

# function words: they distinguish neither documents nor tasks
COMMON = word_set("""
a an and are as at be by can do does for from has have how i if in into is it its not of on or that the this to we what when
where which with you they their there these those was were will would should could than then so such via per each any all some
other more most also only between about through over after before during without within against up out no nor
make use using need
""")
# … and those that a query does not search for: verbs and connectives of tasks
QUERY_STOP_WORDS = COMMON | word_set("""
add implement create fix support new update remove refactor change allow ensure handle trace explain understand find show
while because including requiring
""")

# generic nouns for "something that does": the word next to them carries the meaning
FILLERS = word_set("""
ability behavior behaviour capability code existing feature features function functionality functions implementation kind logic method methods
missing functional proper simple small thing tool tools
""")

_SHORT_FORMS = """
addr=address admin=administrator alloc=allocate api=interface app=application args=arguments async=asynchronous
attr=attribute attrs=attributes auth=authentication authn=authentication authz=authorization buf=buffer calc=calculate
cert=certificate cfg=config char=character cli=command cmd=command cnt=count col=column conf=config
config=configuration conn=connection coord=coordinate ctor=constructor ctrl=controller ctx=context cur=current
db=database decl=declaration del=delete dep=dependency deps=dependencies desc=description dest=destination
dev=development diff=difference dir=directory dirs=directories dist=distribution doc=documentation docs=documentation
dst=destination elem=element env=environment evt=event exc=exception exec=execute expr=expression ext=extension
fmt=format freq=frequency fs=filesystem gen=generate hdr=header i18n=internationalization idx=index img=image
info=information init=initialize iter=iterator kwargs=arguments l10n=localization lang=language len=length lib=library
loc=location max=maximum mem=memory mgr=manager min=minimum msg=message mux=multiplexer nav=navigation num=number
op=operation opt=option opts=options org=organization os=system param=parameter params=parameters perf=performance
perm=permission perms=permissions pkg=package pos=position pref=preference prefs=preferences prev=previous
proc=process prod=production prop=property props=properties proto=protocol ptr=pointer pwd=password qty=quantity
rand=random rec=record recv=receive ref=reference regex=expression repo=repository req=request res=response
resp=response sec=security seq=sequence sess=session sig=signature spec=specification sql=query src=source srv=server
stat=statistics stats=statistics stmt=statement svc=service sync=synchronize sys=system tbl=table temp=temporary
tx=transaction txn=transaction txt=text ui=interface url=address usr=user util=utility utils=utilities ver=version
vm=machine win=window ws=websocket
"""
ABBREVIATIONS = dict(pair.split("=") for pair in _SHORT_FORMS.split())
