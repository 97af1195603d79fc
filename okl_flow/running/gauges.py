"""What the supervisor itself tells Prometheus."""

from prometheus_client import Counter, Gauge

__all__ = ["PROCESSES", "RESTARTS", "UP"]

UP = Gauge("okl_flow_up", "Whether all processes of the job run.")
PROCESSES = Gauge("okl_flow_processes", "Processes that the job is to have.")
RESTARTS = Counter("okl_flow_restarts", "Starts of the cluster after a failure.")
