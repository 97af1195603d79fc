"""Zhang and Liao, "Incremental randomized sketching for online kernel learning", ICML 2019."""
