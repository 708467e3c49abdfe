"""Several indexes asked as one: one numbering of items and files, paths that begin with the label of their repository, counts over all of them.

Whatever ranks sees one large index, so scores of different repositories can be compared. Nothing is written; each index stays as it is.
"""

from assay.store.several.index import Several as Several
