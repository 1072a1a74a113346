"""Where nbgrader meets the engine: its gradebook, its `autograde`, its formgrader."""
