"""Zhang and Liao, "Hypothesis sketching for online kernel selection", IJCAI 2020."""
