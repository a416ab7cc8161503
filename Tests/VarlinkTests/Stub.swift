// Filled in by the work under way.
