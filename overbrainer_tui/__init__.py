"""What a person touches: the command line and the full-screen app over `overbrainer_core`."""
