"""Topics in, topics out: with Apache Kafka, and nothing lost or repeated."""

from okl_flow.kafka.connection import BrokerError
from okl_flow.kafka.embedded import Embedded, embedded
from okl_flow.kafka.sink import output
from okl_flow.kafka.source import input

__all__ = ["BrokerError", "Embedded", "embedded", "input", "output"]
