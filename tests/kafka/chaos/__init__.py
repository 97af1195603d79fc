"""The big run: a job over Kafka that is killed over and over, and the one who judges it."""
