"""Every JSON record that Redolake writes: one module per noun, one codec for all. Import them from their modules."""
