"""Answering: from passages that a search found to an answer with citations, or a refusal.

question.py      its words, and how much each tells in this corpus
units.py         a passage's sentences, items, rows and blocks of code
excerpts.py      which of them answer best
confidence.py    how sure that is
answering.py     a reply: of excerpts (`extract`), or written by a model (`write`)
prompt.py, chat.py, citations.py    what the model is asked, how it is heard, which of its citations count
reply.py, refusal.py, render.py     what comes out

All but chat.py are pure functions of what was found.
"""
