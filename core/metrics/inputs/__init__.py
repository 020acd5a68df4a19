"""What learners are given, checked: rows, findings, pairs, triplets, and a part set aside."""
