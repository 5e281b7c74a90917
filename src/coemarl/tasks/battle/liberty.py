def loop(fight, state, orders, words):
    raise NotImplementedError
