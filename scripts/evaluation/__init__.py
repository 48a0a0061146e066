"""What scripts/evaluate and scripts/evaluate-execution share."""
