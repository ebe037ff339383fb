"""CronJobs start Jobs by the clock."""
