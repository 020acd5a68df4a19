"""How much a person's clicks teach: simulated users who answer from the findings."""
