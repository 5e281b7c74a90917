"""Studies: many runs from one file, done in any place, told in one table.

study.py   a study as data, and its TOML form        table/*.toml   those of the paper
store.py   the rows of all its runs, in one file
"""
