"""The didactic game of the paper (section 5.4): conditional optimism in a tree that one can see.

options.py   what can be chosen
payoff.py    the game: who is paid, and what is regretted
learner.py   the contract of learners and the rule by which all of them choose
own.py       what an agent knows of its own actions alone
learners.py  the learners of the paper
central.py   UCB1 over all joint actions, quickly
run.py       many games at once, compiled
plain.py     the same in plain Python, one number at a time
results.py   tables, rows and the summary for machines
curves.py    the paper's figure
study.py     every reading of the paper, played once
claims.py    which of the paper's claims hold under which reading
growth.py    what the tree held at each moment of a game
view.py      that as a picture and as a film
"""
