"""The air: the packets that one controller sends and the others receive."""

import asyncio

from bumble import ll
from bumble.link import LocalLink


class Air(ll.AdvertisingPdu):
    """One advertising event on the air (Bumble's own PDUs have neither its type nor a scan response)."""

    def __init__(self, address, data, rsp=b'', connectable=True, scannable=True, legacy=True, target=None, sid=0):
        self.address = address
        self.data, self.rsp = bytes(data), bytes(rsp)
        self.connectable, self.scannable, self.legacy = connectable, scannable, legacy
        self.target, self.sid = target, sid
        self.rssi = -50  # at the receivers; the sender sets it

    @property
    def key(self):
        """Address and type (0 public, 1 random), as in accept lists and reports."""
        return bytes(self.address), 0 if self.address.is_public else 1


class Band(LocalLink):
    """Bumble's link bus, with an address for each link, and controllers that can fall silent."""

    def send_advertising_pdu(self, sender, packet):
        """A connection request is delivered immediately: an advertiser listens only right after it has sent."""
        if not isinstance(packet, ll.ConnectInd):
            return super().send_advertising_pdu(sender, packet)
        for chip in self.controllers:
            if chip != sender:
                chip.on_ll_advertising_pdu(packet)

    def takes_connections(self, address):
        """Whether a device still advertises with this address."""
        return any(advertiser.enabled and advertiser.address == address for chip in self.controllers
                   for advertiser in (chip.le_legacy_advertiser, *chip.advertising_sets.values()))

    def find_le_controller(self, address):
        for chip in self.controllers:
            if any(link.self_address == address for link in chip.le_connections.values()):
                return chip
        return None

    def severed(self, chip, link):
        """Whether one end of a link has fallen silent: nothing arrives in either direction."""
        peer = self.find_le_controller(link.peer_address)
        return chip.silent or (peer is not None and peer.silent)

    def send_acl_data(self, sender, destination, transport, data):
        # Bumble uses the sender's random address as the source, whatever the address of the link.
        link = sender.le_connections.get(destination)
        peer = self.find_le_controller(destination)
        if link and peer and not self.severed(sender, link):
            asyncio.get_running_loop().call_soon(peer.on_link_acl_data, link.self_address, transport, data)

    def send_ll_control_pdu(self, sender_address, receiver_address, packet):
        sender, receiver = self.find_le_controller(sender_address), self.find_le_controller(receiver_address)
        if sender and receiver and not sender.silent and not receiver.silent:
            super().send_ll_control_pdu(sender_address, receiver_address, packet)

    def cut(self, chip, link, reason):
        """Ends a link on both sides with the given reason."""
        loop = asyncio.get_running_loop()
        peer = self.find_le_controller(link.peer_address)
        for end, address in ((peer, link.self_address), (chip, link.peer_address)):
            if end and address in end.le_connections:
                loop.call_soon(end.link_lost, end.le_connections[address], reason)
