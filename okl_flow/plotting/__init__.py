"""Pictures of reports and results. Drawing needs matplotlib, which comes with the extra `plot`."""
