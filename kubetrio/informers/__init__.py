"""What follows the commit stream: a dispatcher by key, informers, work queues and controllers."""
