"""The peers' part of `cargo xtask bench held_out`: a model of a peer, judged on held-out documents.

held_out_peers.py FOLDER PEER K SEED SECONDS

FOLDER holds train.npz, observed.npz and completed.npz: training documents, and the two halves of the held-out ones. A peer
trains for SECONDS of CPU time, or to the number of iterations that LAST names, whichever is first. Writes its topics to
PEER.f32 (topics x terms in `f32`, rows sum to one) and prints one line of JSON: `score`, in nats a token of the completed halves, with
the proportions that the peer itself infers from the observed ones.

held_out_peers.py FOLDER sweep SEED K=SECONDS [K=SECONDS ...]    the scores of all peers for several numbers of topics

held_out_peers.py FOLDER draw DOCUMENTS TERMS K TOKENS CONCENTRATION TOPICS SEED    writes drawn.npz: documents of TOKENS tokens on
average (Poisson) from K topics. The proportions have a symmetric Dirichlet prior whose parameters sum to CONCENTRATION. The prior
of the topics is a symmetric Dirichlet distribution with the parameter TOPICS.

held_out_peers.py FOLDER cut COUNTS.npz TOKENS SEED    writes drawn.npz: TOKENS tokens at random of each document

held_out_peers.py FOLDER bound TOPICS.f32 K    scikit-learn's own measure of topics: its bound on the log-likelihood of the
held-out documents, in nats a token
"""

import json
import sys
import time
from pathlib import Path

import numpy
import scipy.sparse
import scipy.special

# Iterations after which more have no use: tomotopy's own examples stop before, the others converge.
LAST = {"tomotopy": 2000, "scikit-learn": 200, "gensim": 100}
# Iterations in which a peer infers the proportions of a document.
INFERENCE = 200


def read(folder, name):
    return scipy.sparse.load_npz(folder / f"{name}.npz").tocsr()


def score(proportions, topics, completed):
    """The mean log probability of a token."""
    rows = numpy.repeat(numpy.arange(completed.shape[0]), numpy.diff(completed.indptr))
    known = numpy.asarray(proportions).sum(1)[rows] > 0
    rows, columns, counts = rows[known], completed.indices[known], completed.data[known]
    rates = numpy.einsum("ij,ij->i", proportions[rows], topics.T[columns])
    return float((counts * numpy.log(numpy.maximum(rates, 1e-10))).sum() / counts.sum())


def words(counts, row):
    """The tokens of a document, as tomotopy takes them."""
    span = slice(*counts.indptr[row : row + 2])
    return numpy.repeat(counts.indices[span], counts.data[span].astype(int)).astype(str).tolist()


def bags(counts):
    """The documents as gensim takes them."""
    spans = zip(counts.indptr[:-1], counts.indptr[1:])
    return [[(int(c), int(x)) for c, x in zip(counts.indices[a:b], counts.data[a:b])] for a, b in spans]


def tomotopy(train, observed, topics, seed, seconds):
    import tomotopy

    model = tomotopy.LDAModel(k=topics, seed=seed)
    for row in range(train.shape[0]):
        model.add_doc(words(train, row))
    model.burn_in = 100
    done, began = 0, time.process_time()
    while done < LAST["tomotopy"] and time.process_time() - began < seconds:
        # The results depend on the number of workers: two, the number of threads of our fits.
        model.train(10, workers=2)
        done += 10
    spent = time.process_time() - began
    learned = numpy.zeros((topics, train.shape[1]))
    columns = numpy.array([int(word) for word in model.used_vocabs])
    for topic in range(topics):
        learned[topic, columns] = model.get_topic_word_dist(topic)
    # A document without known words is none to tomotopy.
    kept = numpy.flatnonzero(numpy.asarray(observed[:, columns].sum(1)).ravel() > 0)
    documents = [model.make_doc(words(observed, row)) for row in kept]
    proportions = numpy.zeros((observed.shape[0], topics))
    proportions[kept] = numpy.array(model.infer(documents, iterations=INFERENCE)[0])
    return learned, proportions, spent, done


def sklearn(train, observed, topics, seed, seconds):
    from sklearn.decomposition import LatentDirichletAllocation

    def model(passes):
        return LatentDirichletAllocation(topics, learning_method="batch", max_iter=passes, random_state=seed)

    began = time.process_time()
    model(2).fit(train)
    a_pass = (time.process_time() - began) / 2
    passes = int(min(LAST["scikit-learn"], max(1, seconds / a_pass)))
    began = time.process_time()
    fitted = model(passes).fit(train)
    spent = time.process_time() - began
    learned = fitted.components_ / fitted.components_.sum(1, keepdims=True)
    proportions = fitted.transform(observed)
    proportions[numpy.asarray(observed.sum(1)).ravel() == 0] = 0
    return learned, proportions, spent, passes


def gensim(train, observed, topics, seed, seconds):
    from gensim.models import LdaModel

    names = {column: str(column) for column in range(train.shape[1])}
    corpus = bags(train)
    def model(passes):
        # All documents in one chunk, as they fit into memory; both priors are learned.
        return LdaModel(
            corpus, topics, names, random_state=seed, chunksize=len(corpus), passes=passes, alpha="auto", eta="auto",
            iterations=INFERENCE, eval_every=None,
        )

    began = time.process_time()
    model(1)
    passes = int(min(LAST["gensim"], max(1, seconds / (time.process_time() - began))))
    began = time.process_time()
    fitted = model(passes)
    spent = time.process_time() - began
    proportions = fitted.inference(bags(observed))[0].astype(float)
    proportions /= proportions.sum(1, keepdims=True)
    proportions[numpy.asarray(observed.sum(1)).ravel() == 0] = 0
    return fitted.get_topics().astype(float), proportions, spent, passes


def bound(folder, topics):
    """scikit-learn's bound, for topics of any origin: the components are expected counts, as after its own fit."""
    from sklearn.decomposition import LatentDirichletAllocation

    train, observed, completed = (read(folder, name) for name in ("train", "observed", "completed"))
    model = LatentDirichletAllocation(len(topics), max_iter=1, random_state=0).fit(train[: len(topics)])
    model.components_ = topics * train.sum() / len(topics) + model.topic_word_prior_
    expectation = scipy.special.digamma(model.components_)
    expectation -= scipy.special.digamma(model.components_.sum(1, keepdims=True))
    model.exp_dirichlet_component_ = numpy.exp(expectation)
    held_out = observed + completed
    return {"bound": -float(numpy.log(model.perplexity(held_out)))}


def draw(folder, documents, terms, topics, tokens, concentration, parameter, seed):
    random = numpy.random.default_rng(int(seed))
    documents, terms, topics = int(documents), int(terms), int(topics)
    f = random.dirichlet(numpy.full(terms, float(parameter)), topics)
    l = random.dirichlet(numpy.full(topics, float(concentration) / topics), documents)
    lengths = random.poisson(float(tokens), documents)
    rows = []
    for block in range(0, documents, 256):
        rates = l[block : block + 256] @ f
        rates /= rates.sum(1, keepdims=True)
        rows.append(scipy.sparse.csr_matrix(random.multinomial(lengths[block : block + 256], rates)))
    scipy.sparse.save_npz(folder / "drawn.npz", scipy.sparse.vstack(rows).tocsr().astype("int32"))
    return {}


def cut(folder, counts, tokens, seed):
    random = numpy.random.default_rng(int(seed))
    counts = scipy.sparse.load_npz(counts).tocsr()
    for start, end in zip(counts.indptr[:-1], counts.indptr[1:]):
        whole = counts.data[start:end].astype("int64")
        counts.data[start:end] = random.multivariate_hypergeometric(whole, min(int(tokens), whole.sum()))
    counts.eliminate_zeros()
    scipy.sparse.save_npz(folder / "drawn.npz", counts)
    return {}


def sweep(folder, seed, *numbers):
    train, observed, completed = (read(folder, name) for name in ("train", "observed", "completed"))
    scores = {}
    for number in numbers:
        topics, seconds = number.split("=")
        for peer, run in PEERS.items():
            learned, proportions, _, _ = run(train, observed, int(topics), int(seed), float(seconds))
            learned /= learned.sum(1, keepdims=True)
            scores.setdefault(peer, {})[topics] = score(proportions, learned, completed)
    return scores


PEERS = {"tomotopy": tomotopy, "scikit-learn": sklearn, "gensim": gensim}


def main(folder, peer, *arguments):
    folder = Path(folder)
    if peer in (others := {"cut": cut, "draw": draw, "sweep": sweep}):
        print(json.dumps(others[peer](folder, *arguments)))
        return
    if peer == "bound":
        print(json.dumps(bound(folder, numpy.fromfile(arguments[0], "<f4").reshape(int(arguments[1]), -1))))
        return
    topics, seed, seconds = int(arguments[0]), int(arguments[1]), float(arguments[2])
    train, observed, completed = (read(folder, name) for name in ("train", "observed", "completed"))
    learned, proportions, spent, done = PEERS[peer](train, observed, topics, seed, seconds)
    learned /= learned.sum(1, keepdims=True)
    learned.astype("<f4").tofile(folder / f"{peer}.f32")
    module = __import__({"scikit-learn": "sklearn"}.get(peer, peer))
    print(json.dumps({
        "cpu_seconds": spent, "iterations": done, "version": module.__version__,
        "score": score(proportions, learned, completed), "topics": str(folder / f"{peer}.f32"),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
