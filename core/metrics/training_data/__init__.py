"""What learners are given, checked: rows, findings, pairs and triplets, and the memory they take."""
