"""A flow kept running: the processes of its cluster, and the supervisor that starts them again.

The supervisor starts the processes, reads what they tell, and does all the writing of logs. A
process runs the flow, and ends with the supervisor.
"""
