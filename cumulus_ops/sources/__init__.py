"""Where events come from: each source hands over deliveries, from a position on."""
