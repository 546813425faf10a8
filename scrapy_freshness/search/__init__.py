"""What would searchers see?  The terms they ask for, scores, ranks, and how much a refresh betters them."""
