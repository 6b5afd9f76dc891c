"""What several methods use; no method imports another method."""

from tclose.partition.shared.numba_settings import ignore_settings_of_folder

ignore_settings_of_folder()
