"""Anonymous blocks, triggers, and the packages that blocks call on their own variables."""
