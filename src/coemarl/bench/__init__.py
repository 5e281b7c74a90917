"""Benchmarks: how fast the parts are, beside what bounds them and beside the originals.

A benchmark is a row of `BENCHMARKS`: a module with

    Options            a frozen dataclass over `options.BenchOptions`: what to measure, and how
    measure(options)   a record of plain values, ready for JSON; ValueError in one sentence if the
                       options make no sense. `measure.interleaved` takes the times.
    render(record)     the record as text of at most 80 columns, for people; `report.table` helps

`coe bench NAME` stays on one core, measures, prints one of the two, and writes the record to a file
if wished. To a record the command adds where it was made: `benchmark`, `command` and `machine`.
"""

# Benchmark: (module, what it measures).
BENCHMARKS = {
    "tasks": ("coemarl.bench.tasks", "steps of environments a second, beside the originals"),
    "learner": ("coemarl.bench.learner", "the training iteration, beside the bound of the core"),
    "algorithms": ("coemarl.bench.algorithms", "an iteration of each algorithm, beside QMIX's"),
    "counts": ("coemarl.bench.counts", "memory, cost and error of the kinds of counts"),
    "game": ("coemarl.bench.game", "joint actions a second in the game, beside a plain loop"),
}
