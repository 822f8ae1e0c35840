/// Whether a program may switch an adapter on.
public enum PowerPolicy: Hashable, Sendable {
    /// Never: opening fails when it is off, and later it is waited for until somebody switches it on.
    case leave
    /// When it is opened, and again after it was plugged in again or a radio switch gave it free. Somebody who powers it
    /// off meanwhile has the last word. Needs CAP_NET_ADMIN.
    case powerOn
    /// As ``powerOn``, and also when another program has powered it off; not when this program did. Needs CAP_NET_ADMIN.
    case keepOn
}
