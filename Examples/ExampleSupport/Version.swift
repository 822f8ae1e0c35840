/// The version of this package, as `--version` prints it. Defined only here.
public let packageVersion = "0.1.0-dev"
