"""Searches vectors with faiss as it comes, one query at a time, whenever it is told to.

faiss_search.py FILE DIMENSIONS ROWS QUERIES TOP KIND

FILE holds ROWS vectors of length 1 and then QUERIES more, as little-endian floats of 32 bits. KIND is flat (exact, floats of 32
bits) or sq8 (a scalar quantiser of 8 bits, scanned whole). Each line of standard input is a number of threads, 0 for as many as
faiss takes by itself; for each it searches for all queries and prints one line of JSON: the seconds that each query took, and the
numbers of the rows found.
"""

import json
import sys
import time

import faiss
import numpy

path, kind = sys.argv[1], sys.argv[6]
dimensions, rows, queries, top = (int(word) for word in sys.argv[2:6])
vectors = numpy.memmap(path, dtype="<f4", mode="r", shape=(rows + queries, dimensions))
if kind == "flat":
    index = faiss.IndexFlatIP(dimensions)
else:
    index = faiss.IndexScalarQuantizer(dimensions, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.train(numpy.array(vectors[: min(rows, 100_000)]))
for first in range(0, rows, 50_000):
    index.add(numpy.array(vectors[first : min(first + 50_000, rows)]))
asked = numpy.array(vectors[rows:])
default = faiss.omp_get_max_threads()
print("ready", flush=True)
for line in sys.stdin:
    faiss.omp_set_num_threads(int(line) or default)
    seconds, found = [], []
    for query in asked:
        query = query.reshape(1, -1)
        began = time.perf_counter()
        _, numbers = index.search(query, top)
        seconds.append(time.perf_counter() - began)
        found.append(numbers[0].tolist())
    print(json.dumps({"seconds": seconds, "found": found}), flush=True)
