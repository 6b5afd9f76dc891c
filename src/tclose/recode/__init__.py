"""Step 4, recode: what each class publishes, how that is written, and how it is read back."""
