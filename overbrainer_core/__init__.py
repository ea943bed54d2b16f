"""overbrainer's library: distils a large parent model into a small child, without a terminal."""

__version__ = "0.1.0"
