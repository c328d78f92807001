"""The generated reference pages, one module each; `docs/generate.py` writes them."""
