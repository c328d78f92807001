"""First contents: read tables AS OF an SCN, whole or in chunks, beside the stream, and load them."""
