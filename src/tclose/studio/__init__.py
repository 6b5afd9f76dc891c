"""The studio: the whole job in a browser, on the steward's own machine.

It calls the steps and shows what they return; it contains no algorithm.
"""
