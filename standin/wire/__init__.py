"""The TNS/TTC wire layer of the stand-in, to which unmodified Oracle drivers connect over TCP.

Reading order: packets (TNS) -> reader, primitives (TTC fields) -> handshake, auth -> requests -> session -> messages.
Values: numbers, values (one at a time), cells (Arrow columns). It uses the database only through standin/interface.py.
"""
