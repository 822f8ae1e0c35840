/// The version of this package, which `--version` prints. Nothing else repeats it.
public let packageVersion = "0.1.0-dev"
