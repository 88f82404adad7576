"""What is known before training: transitions, rules, projective decoding. No DyNet."""
