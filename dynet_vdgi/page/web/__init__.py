"""The page as a server: who may ask, and what is answered."""
