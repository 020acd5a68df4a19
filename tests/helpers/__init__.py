"""What several tests need: real data, private user folders, the leak check."""
