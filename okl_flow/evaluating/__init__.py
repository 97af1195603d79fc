"""Running evaluation in constant memory: sums, intervals, detectors of drift, tables of keys.

No engine in here; `okl_flow.operators.evaluate` puts it into a dataflow.
"""
