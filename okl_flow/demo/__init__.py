"""The demonstration: a flow over Kafka topics that is killed, recovers, and is checked.

`okl_flow.demo.script` is what happens, from its beginning to its end; the other modules are what
it needs for that.
"""
