"""What several steps share: leases, decisions of people, sessions of Spark, times of SCNs, and where a pipeline stands."""
