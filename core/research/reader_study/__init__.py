"""Reader studies: who reads which case with which aid, what was answered, and what the answers show."""
