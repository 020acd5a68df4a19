"""Teaching collections: put cases into them, and export them."""
