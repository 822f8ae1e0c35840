/// The numbers of URI schemes (Assigned Numbers §2.7).
enum URIScheme {
    /// No scheme: the URI follows in full.
    static let none: UInt32 = 0x01

    /// The number of the first scheme in ``names``.
    private static let first: UInt32 = 0x02

    /// The scheme of a number with its colon; empty for ``none``, nil for an unassigned number.
    static func name(of number: UInt32) -> String? {
        if number == none { return "" }
        guard number >= first, number - first < UInt32(names.count) else { return nil }
        return names[Int(number - first)] + ":"
    }

    /// The number of the scheme of `uri`, and the text after the scheme's colon.
    static func split(_ uri: String) -> (number: UInt32, rest: Substring) {
        guard let colon = uri.firstIndex(of: ":"), let index = names.firstIndex(of: uri[..<colon].lowercased()) else {
            return (none, uri[...])
        }
        return (first + UInt32(index), uri[uri.index(after: colon)...])
    }

    private static let names = """
        aaa aaas about acap acct cap cid coap coaps crid data dav dict dns file ftp geo go gopher h323 http https iax \
        icap im imap info ipp ipps iris iris.beep iris.xpc iris.xpcs iris.lwz jabber ldap mailto mid msrp msrps mtqp \
        mupdate news nfs ni nih nntp opaquelocktoken pop pres reload rtsp rtsps rtspu service session shttp sieve sip \
        sips sms snmp soap.beep soap.beeps stun stuns tag tel telnet tftp thismessage tn3270 tip turn turns tv urn \
        vemmi ws wss xcon xcon-userid xmlrpc.beep xmlrpc.beeps xmpp z39.50r z39.50s acr adiumxtra afp afs aim apt \
        attachment aw barion beshare bitcoin bolo callto chrome chrome-extension com-eventbrite-attendee content cvs \
        dlna-playsingle dlna-playcontainer dtn dvb ed2k facetime feed feedready finger fish gg git gizmoproject gtalk \
        ham hcp icon ipn irc irc6 ircs itms jar jms keyparc lastfm ldaps magnet maps market message mms ms-help \
        ms-settings-power msnim mumble mvn notes oid palm paparazzi pkcs11 platform proxy psyc query res resource rmi \
        rsync rtmfp rtmp secondlife sftp sgn skype smb smtp soldat spotify ssh steam submit svn teamspeak teliaeid \
        things udp unreal ut2004 ventrilo view-source webcal wtai wyciwyg xfire xri ymsgr example \
        ms-settings-cloudstorage
        """.split(separator: " ").map(String.init)
}
