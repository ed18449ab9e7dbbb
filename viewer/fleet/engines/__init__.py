"""What runs units of work: this process, processes on this machine, or a Dask cluster."""
