"""Step 4, write: what each class publishes, and files that appear whole or not at all."""
