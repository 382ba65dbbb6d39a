"""scikit-learn's side of `cargo xtask bench text`: counts the terms of a file, one document per line, and compares the counts
with topicbook's file cell by cell. Prints one line of JSON.

    bench_text.py TEXT.txt COUNTS.npz
"""

import json
import sys
import time

import scipy.sparse as sp
import sklearn
from sklearn.feature_extraction.text import CountVectorizer

text, ours = sys.argv[1:]
begin, used = time.perf_counter(), time.process_time()
vectorizer = CountVectorizer()
with open(text, encoding="utf-8", newline="\n") as lines:
    counts = vectorizer.fit_transform(lines)
seconds, cpu = time.perf_counter() - begin, time.process_time() - used

with open(ours.removesuffix(".npz") + "_terms.txt", encoding="utf-8", newline="\n") as terms:
    same_terms = terms.read().split("\n")[:-1] == list(vectorizer.get_feature_names_out())
found = sp.load_npz(ours)
equal = same_terms and found.shape == counts.shape and (found.astype(counts.dtype) != counts).nnz == 0
print(json.dumps({"seconds": seconds, "cpu": cpu, "equal": bool(equal), "scikit-learn": sklearn.__version__}))
