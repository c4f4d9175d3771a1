"""Stores over a database of points: everything that such stores share.

A database keeps *points* (a chunk with its vector, its terms and what filters read) and *records*
(small texts by key). ``backend`` says what an adapter translates; nothing else of a store is the
adapter's: who owns what, documents and fields, scores, filters, order and repair are written here.
"""
