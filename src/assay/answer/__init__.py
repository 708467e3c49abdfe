"""Answering: from search hits to an answer with citations, or a refusal.

Data flow: `question.analyze_question` weighs the question's words in this corpus, `units.units` splits passages into
sentences, items, rows and code, `excerpts.choose` picks excerpts, `confidence.confidence` rates them and `gaps.missing`
says what they lack. `answering` turns that into a reply of excerpts (`extract`) or lets a model write it (`write`):
`messages` builds the prompt, `Chat` reads the stream, `citations` validates the citations, `reply` renders the result.

Everything except `Chat` is a pure function of the search hits.
"""
