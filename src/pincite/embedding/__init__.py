"""Embedding: endpoints that turn text into vectors, and the checks on what they return."""
