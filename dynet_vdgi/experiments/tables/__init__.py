"""Tables made of the results of experiments."""
