"""Writes coherence.json: counts, lists of terms, and their coherence as gensim and tomotopy compute it.

    pip install gensim==4.4.0 tomotopy==0.14.0
    python make_coherence.py

The measures are those that count documents. gensim has no NPMI of documents; a window that is longer than every document is
the document, so `c_npmi` with such a window is. tomotopy composes it from its parts.
"""

import json
import pathlib
import random

import gensim
import tomotopy
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from tomotopy.coherence import Coherence, ConfirmMeasure, ProbEstimation, Segmentation

DOCUMENTS, TERMS = 48, 18
# The first three have pairs of all kinds: often, seldom and never together. The last is a list of two terms.
TOPICS = [[0, 1, 2, 3, 4], [5, 0, 9, 12, 7], [10, 15, 16, 3, 11], [2, 14, 8, 6, 13]]


def counts():
    """Documents of three kinds over overlapping terms. Terms 15 and 16 are rare; term 17 and two documents, 5 among them,
    are empty: gensim counts empty documents, tomotopy leaves them out."""
    draw = random.Random(7)
    rows = []
    for document in range(DOCUMENTS):
        row = [0] * TERMS
        if document != 5:
            first = 5 * (document % 3)
            for term in range(TERMS - 1):
                near = first <= term < first + 7
                rare = term in (15, 16)
                if draw.random() < (0.04 if rare else 0.6 if near else 0.12):
                    row[term] = 1 + int(4 * draw.random())
        rows.append(row)
    return rows


def by_gensim(texts, topics, measure):
    dictionary = Dictionary([[str(term) for term in range(TERMS)]])
    options = {"c_npmi": {"window_size": 1 + max(map(len, texts))}, "u_mass": {}}[measure]
    corpus = [dictionary.doc2bow(text) for text in texts]
    # The pool of processes of the sliding window sees the documents in pieces; one process sees them all.
    model = CoherenceModel(
        topics=topics, texts=texts, corpus=corpus, dictionary=dictionary, coherence=measure, processes=1, **options
    )
    return [float(value) for value in model.get_coherence_per_topic()]


def by_tomotopy(texts, topics, measure):
    corpus = tomotopy.utils.Corpus()
    for text in texts:
        corpus.add_doc(text)
    parts = {
        "u_mass": (ProbEstimation.DOCUMENT, Segmentation.ONE_PRE, ConfirmMeasure.LOGCOND),
        "c_npmi": (ProbEstimation.DOCUMENT, Segmentation.ONE_ONE, ConfirmMeasure.NPMI),
    }[measure]
    targets = sorted({term for topic in topics for term in topic})
    model = Coherence(corpus, coherence=parts, targets=targets)
    return [model.get_score(words=topic) for topic in topics]


def main():
    rows = counts()
    texts = [[str(term) for term, count in enumerate(row) for _ in range(count)] for row in rows]
    topics = [[str(term) for term in topic] for topic in TOPICS]
    measures = {
        "u_mass": {"gensim": by_gensim(texts, topics, "u_mass"), "tomotopy": by_tomotopy(texts, topics, "u_mass")},
        "npmi": {"gensim": by_gensim(texts, topics, "c_npmi"), "tomotopy": by_tomotopy(texts, topics, "c_npmi")},
    }
    result = {
        "versions": {"gensim": gensim.__version__, "tomotopy": tomotopy.__version__},
        "counts": rows,
        "topics": TOPICS,
        **measures,
    }
    path = pathlib.Path(__file__).with_name("coherence.json")
    lines = ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in result.items())
    path.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
