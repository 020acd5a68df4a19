"""What a person does to a library: fill it, open it, check it, mend it, back it up."""
