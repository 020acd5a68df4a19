"""Train metrics and pass them on."""
