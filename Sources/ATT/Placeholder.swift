// This floor is not built yet.
