"""coemarl: conditionally optimistic exploration for cooperative multi-agent learning, in JAX."""
