"""The TNS/TTC wire layer of the stand-in: what an unmodified Oracle driver talks to over TCP.

Reading order: packets (TNS) -> reader, primitives (TTC fields) -> handshake, auth -> requests -> session -> messages.
Values: numbers, values (one at a time), cells (Arrow columns). It knows the database only by standin/interface.py.
"""
