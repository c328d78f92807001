"""The landing: write-once Parquet files with a manifest. After a window has landed, the source's logs are not needed."""
