// The worlds run here come with the explorer.
