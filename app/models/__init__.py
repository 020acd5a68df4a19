"""What views read: snapshots, orders and caches, testable without a window."""
