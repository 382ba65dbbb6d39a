"""Reads a file of packed counts, which docs/packed-counts.md describes, as a SciPy matrix: read("X.tbc")."""

import struct
import zlib

import numpy as np
import scipy.sparse as sparse


def unpack(head, bodies):
    """The numbers of the first chunk of bodies, and its bytes."""
    width, upper, exceptions = head[0] & 63, (head[0] >> 6) + 1, head[1]
    packed = 16 * width
    lanes = np.frombuffer(bodies[:packed], "<u4").reshape(width, 4).T.copy().view("u1")
    bits = np.unpackbits(lanes, axis=1, bitorder="little").reshape(4, 32, width)
    numbers = (bits.astype("u8") << np.arange(width, dtype="u8")).sum(2).T.ravel()
    for i, place in enumerate(bodies[packed : packed + exceptions]):
        at = packed + exceptions + i * upper
        numbers[place] |= np.uint64(int.from_bytes(bodies[at : at + upper], "little") << width)
    return numbers, packed + exceptions * (1 + upper)


def read(path):
    data = memoryview(open(path, "rb").read())
    magic, version, in_block = struct.unpack_from("<8sII", data)
    documents, terms, checksum, end = struct.unpack("<QQI4s", data[-24:])
    assert (magic, version, end) == (b"tbcounts", 1, b"tbc\n"), "no packed counts of version 1"
    blocks = -(-documents // in_block)
    index = len(data) - 24 - 16 * blocks
    assert zlib.crc32(data[index:-8], zlib.crc32(data[:16])) == checksum, "checksum of the index"
    start, before, rows = 16, 0, ([], [], [])
    for block, (end, after) in enumerate(np.frombuffer(data[index:-24], "<u8").reshape(-1, 2).tolist()):
        assert zlib.crc32(data[start + 4 : end]) == int.from_bytes(data[start : start + 4], "little"), "checksum of a block"
        length, stored = min(in_block, documents - block * in_block), after - before
        chunks = -(-length // 128)
        heads = np.frombuffer(data, "u1", 2 * (chunks + 2 * -(-stored // 128)), start + 4).reshape(-1, 2).tolist()
        at, numbers = start + 4 + 2 * len(heads), []
        for head in heads:
            chunk, size = unpack(head, data[at:end])
            numbers.append(chunk)
            at += size
        parts = numbers[:chunks], numbers[chunks::2], numbers[chunks + 1 :: 2]
        lengths, gaps, counts = (np.concatenate([[], *part]).astype("i8") for part in parts)
        for gaps_of_row in np.split(gaps[:stored], np.cumsum(lengths[:length])[:-1]):
            rows[0].append(np.cumsum(gaps_of_row + 1) - 1)
        rows[1].append(counts[:stored] + 1)
        rows[2].append(lengths[:length])
        start, before = end, after
    columns, counts, lengths = map(np.concatenate, rows)
    return sparse.csr_array((counts.astype("f4"), columns, np.cumsum([0, *lengths])), shape=(documents, terms))
