"""The page with doubtful cases of the library, and its jobs."""
