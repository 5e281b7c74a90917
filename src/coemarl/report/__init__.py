"""Reports: from rows of metrics to tables, curves and statistics that can be checked.

    rows.py          rows, wherever they lie
    names.py         what tasks and algorithms are called, their order and colours
    results.py       rows as learning curves, and what is odd about them
    table.py         the paper's tables: average and maximum
    paper_tables.py  the paper's own numbers
    aggregate.py     over all tasks; steps to a return
    made.py          how the numbers were made
    document.py      all of it together, computed once
and one file for each form that it takes: terminal.py, markdown.py, latex.py, figures.py (learning
curves), aggregate_figure.py, page.py (HTML), interchange.py (marl-eval's JSON); write.py writes
them.
"""
