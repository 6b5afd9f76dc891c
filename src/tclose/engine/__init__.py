"""Where the steps run. No algorithm lives here."""
