"""What a lake answers: comparisons with the statistics of `opscope compare`, and a report."""
