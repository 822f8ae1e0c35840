"""Bumble's controller, made to behave more like hardware.

Repaired or added: HCI_Reset, scan types and scan responses, duplicate filter, accept list, RSSI, legacy advertising
types, separate extended and legacy reports and commands, fragmented reports, cancelling a connect, connecting to a device
that has just stopped advertising, the enhanced Connection Complete, silence, dual mode, and a few commands that Linux sends.
Not modelled: packet loss, connection intervals (traffic is immediate), address resolution in the controller, directed
advertising timing, BR/EDR traffic, synchronous and isochronous channels.
"""

import asyncio
import logging
import random
import struct

from band import Air
from bumble import hci, ll
from bumble.controller import AdvertisingSet, Controller, LegacyAdvertiser
from bumble.hci import Address, HCI_ErrorCode as E

Status = hci.HCI_StatusReturnParameters
OK, DISALLOWED = Status(E.SUCCESS), Status(E.COMMAND_DISALLOWED_ERROR)
LE, LMP = hci.LeFeatureMask, hci.LmpFeatureMask

CHIP_4_2 = (
    LE.LE_ENCRYPTION | LE.CONNECTION_PARAMETERS_REQUEST_PROCEDURE | LE.EXTENDED_REJECT_INDICATION
    | LE.PERIPHERAL_INITIATED_FEATURE_EXCHANGE | LE.LE_PING | LE.LE_DATA_PACKET_LENGTH_EXTENSION
)
EXTENDED_COMMANDS = {
    hci.HCI_LE_SET_ADVERTISING_SET_RANDOM_ADDRESS_COMMAND, hci.HCI_LE_SET_EXTENDED_ADVERTISING_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_DATA_COMMAND, hci.HCI_LE_SET_EXTENDED_SCAN_RESPONSE_DATA_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_ENABLE_COMMAND, hci.HCI_LE_READ_MAXIMUM_ADVERTISING_DATA_LENGTH_COMMAND,
    hci.HCI_LE_READ_NUMBER_OF_SUPPORTED_ADVERTISING_SETS_COMMAND, hci.HCI_LE_REMOVE_ADVERTISING_SET_COMMAND,
    hci.HCI_LE_CLEAR_ADVERTISING_SETS_COMMAND, hci.HCI_LE_SET_EXTENDED_SCAN_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_SCAN_ENABLE_COMMAND, hci.HCI_LE_EXTENDED_CREATE_CONNECTION_COMMAND,
}
# Without periodic advertising and LE Read Buffer Size v2, the kernel skips isochronous channels.
NEVER = {hci.HCI_LE_READ_BUFFER_SIZE_V2_COMMAND, hci.HCI_LE_SET_PRIVACY_MODE_COMMAND}
PHY_COMMANDS = {hci.HCI_LE_READ_PHY_COMMAND, hci.HCI_LE_SET_DEFAULT_PHY_COMMAND, hci.HCI_LE_SET_PHY_COMMAND}

# The responses of a dual-mode controller when the kernel sets up BR/EDR, by opcode: the return parameters after the status.
BR_EDR_ANSWERS = {
    0x0C05: b'',  # Set Event Filter
    0x0C16: b'',  # Write Connection Accept Timeout
    0x0C18: b'',  # Write Page Timeout
    0x0C1C: b'\x00\x08\x12\x00',  # Write Page Scan Activity
    0x0C20: b'',  # Write Authentication Enable
    0x0C25: b'\x60\x00',  # Read Voice Setting
    0x0C38: b'\x01',  # Read Number Of Supported IAC
    0x0C39: b'\x01\x33\x8b\x9e',  # Read Current IAC LAP
    0x0C3A: b'',  # Write Current IAC LAP
    0x0C45: b'',  # Write Inquiry Mode
    0x0C47: b'',  # Write Page Scan Type
    0x0402: b'',  # Inquiry Cancel
}


def _legacy_event(self):
    if self.enabled:
        kind = self.advertising_type  # 0 IND, 1 DIRECT high duty, 2 SCAN_IND, 3 NONCONN, 4 DIRECT low duty
        target = self.peer_address if kind in (1, 4) else None
        self.controller.send_advertising_pdu(Air(
            self.address, self.advertising_data, self.scan_response_data, kind in (0, 1, 4), kind in (0, 2), True, target))


def _legacy_timer(self):
    self.send_advertising_data()
    seconds = max(self.advertising_interval_min * 0.625, 10) / 1000
    self.timer_handle = asyncio.get_running_loop().call_later(seconds, self._on_timer_fired)


def _set_event(self):
    if self.address is None or self.address == Address.ANY_RANDOM:
        return
    kind = int(self.parameters.advertising_event_properties) if self.parameters else 0x13
    self.controller.send_advertising_pdu(Air(
        self.address, self.data, self.scan_response_data, bool(kind & 1), bool(kind & 2), bool(kind & 16),
        self.parameters.peer_address if kind & 4 else None, self.parameters.advertising_sid))


LegacyAdvertiser.send_advertising_data, LegacyAdvertiser._on_timer_fired = _legacy_event, _legacy_timer
AdvertisingSet.send_extended_advertising_data = _set_event


class Chip(Controller):
    le_acl_data_packet_length, total_num_le_acl_data_packets = 251, 12
    acl_data_packet_length, total_num_acl_data_packets = 1021, 8
    supported_max_tx_octets = supported_max_rx_octets = 251
    supported_max_tx_time = supported_max_rx_time = 2120

    def __init__(self, name, profile='legacy', strict=True, dual_mode=False, **more):
        """A strict controller rejects commands of the other family. A hidden one does not advertise, and a silent one
        neither sends nor receives."""
        self.strict, self.family = strict, None
        self.scan_extended, self.seen, self.accept = False, set(), set()
        self.rssi, self.hidden, self.silent, self.end_of_links = -50, False, False, None
        self.mute, self.hanging = None, False  # reports no advertisement until a command; answers nothing
        self.room = None  # the number of links beyond which it refuses to connect, and the status with which it does
        self.racing = False  # connects only once the attempt is being cancelled
        self.begun = ()  # the parameters with which the last link to it began; Bumble reports fixed ones to its host
        self.le_features = CHIP_4_2
        self.supported_commands = set(Controller.supported_commands) - NEVER
        if profile == 'extended' or not strict:
            self.le_features |= LE.LE_2M_PHY
        else:
            self.supported_commands -= PHY_COMMANDS
            self.hci_version = self.lmp_version = hci.HCI_VERSION_BLUETOOTH_CORE_4_2
        if profile == 'extended':
            self.le_features |= LE.LE_EXTENDED_ADVERTISING | LE.CHANNEL_SELECTION_ALGORITHM_2
            self.supported_commands |= EXTENDED_COMMANDS
        self.dual_mode = dual_mode
        if dual_mode:
            self.lmp_features = (
                LMP.LE_SUPPORTED_CONTROLLER | LMP.EXTENDED_FEATURES | LMP.SECURE_SIMPLE_PAIRING_CONTROLLER_SUPPORT
                | LMP.SIMULTANEOUS_LE_AND_BR_EDR_TO_SAME_DEVICE_CAPABLE_CONTROLLER | LMP.ENCRYPTION | LMP.ROLE_SWITCH
                | LMP.RSSI_WITH_INQUIRY_RESULTS)
            self.lmp_features_max_page_number = 1
        super().__init__(name, **more)

    # -- commands

    # A controller accepts legacy or extended commands, and rejects the other family until it is reset.
    LEGACY = {0x2006, 0x2008, 0x2009, 0x200A, 0x200B, 0x200C, 0x200D}
    EXTENDED = {0x2036, 0x2037, 0x2038, 0x2039, 0x2041, 0x2042, 0x2043}

    CONNECTING = {0x200D, 0x2043}

    def on_hci_command_packet(self, command):
        if self.hanging:
            return
        code = command.op_code
        family = 'legacy' if code in self.LEGACY else 'extended' if code in self.EXTENDED else None
        if family and self.strict:
            if (self.family or family) != family:
                if isinstance(command, hci.HCI_SyncCommand):
                    self.send_hci_packet(hci.HCI_Command_Complete_Event(1, code, DISALLOWED))
                else:
                    self._send_hci_command_status(E.COMMAND_DISALLOWED_ERROR, code)
                return
            self.family = family
        if code in PHY_COMMANDS - self.supported_commands:
            return self._send_hci_command_status(E.UNKNOWN_HCI_COMMAND_ERROR, code)
        if code in self.CONNECTING and self.room and len(self.le_connections) >= self.room[0]:
            return self._send_hci_command_status(self.room[1], code)
        if self.dual_mode and code == 0x0401:  # Inquiry: no device
            self._send_hci_command_status(E.SUCCESS, code)
            self.raw_event(0x01, b'\x00')
        elif self.dual_mode and code in BR_EDR_ANSWERS:
            self.raw_event(0x0E, struct.pack('<BHB', 1, code, 0) + BR_EDR_ANSWERS[code])
        else:
            try:
                super().on_hci_command_packet(command)
            except Exception:
                logging.exception('command %s', command)

    def send_hci_packet(self, packet):
        if not self.hanging:
            super().send_hci_packet(packet)

    def raw_event(self, code, body):
        if self.host and not self.hanging:
            asyncio.get_running_loop().call_soon(self.host.on_packet, bytes([4, code, len(body)]) + body)

    def on_hci_reset_command(self, _command):
        self.mute = None
        self.le_legacy_advertiser.stop()
        for advertising_set in self.advertising_sets.values():
            advertising_set.stop()
        self.advertising_sets, self.pending_le_connection, self.le_scan_enable, self.family = {}, None, False, None
        self.lmp_features &= ~(LMP.LE_SUPPORTED_HOST | LMP.SECURE_SIMPLE_PAIRING_HOST_SUPPORT)
        self.seen.clear()
        self.accept.clear()
        for link in list(self.le_connections.values()):
            link.send_ll_control_pdu(ll.TerminateInd(E.REMOTE_USER_TERMINATED_CONNECTION_ERROR))
        self.le_connections.clear()
        return OK

    # -- links that end

    def link_lost(self, link, reason):
        if self.le_connections.get(link.peer_address) is link:
            self.on_le_disconnected(link, reason)

    def cut(self, reason):
        for link in list(self.le_connections.values()):
            self.link.cut(self, link, reason)

    def vanish(self, seconds):
        """Falls silent immediately; the other ends notice after their supervision timeout."""
        self.silent = True
        self.end_of_links = asyncio.get_running_loop().call_later(seconds, self.cut, E.CONNECTION_TIMEOUT_ERROR)

    def calm(self):
        """Ends hiding and silence, and disconnects all links immediately."""
        self.hidden = self.silent = False
        if self.end_of_links:
            self.end_of_links.cancel()
        self.cut(E.REMOTE_USER_TERMINATED_CONNECTION_ERROR)

    def unplug(self):
        self.cut(E.CONNECTION_TIMEOUT_ERROR)
        self.host = None
        self.le_connections.clear()  # the other ends were notified above
        self.on_hci_reset_command(None)
        self.link.remove_controller(self)

    def on_hci_disconnect_command(self, command):
        link = self.find_le_connection_by_handle(command.connection_handle)
        if link is None:
            return super().on_hci_disconnect_command(command)
        self._send_hci_command_status(E.SUCCESS, command.op_code)
        link.send_ll_control_pdu(ll.TerminateInd(command.reason))
        # The peer gets the host's reason; the controller's own event has that of a local disconnection.
        self.on_le_disconnected(link, E.CONNECTION_TERMINATED_BY_LOCAL_HOST_ERROR)

    def on_hci_acl_data_packet(self, packet):
        link = self.find_le_connection_by_handle(packet.connection_handle)
        if link and self.link.severed(self, link):
            return  # never acknowledged, so the host runs out of buffers
        super().on_hci_acl_data_packet(packet)

    # -- scanning

    def scan_switched(self, is_on):
        if not is_on and self.mute == 'scan':
            self.mute = None

    def on_hci_le_set_scan_parameters_command(self, command):
        return DISALLOWED if self.le_scan_enable else super().on_hci_le_set_scan_parameters_command(command)

    def on_hci_le_set_scan_enable_command(self, command):
        self.seen.clear()
        self.scan_extended = False
        self.scan_switched(command.le_scan_enable)
        return super().on_hci_le_set_scan_enable_command(command)

    def on_hci_le_set_extended_scan_parameters_command(self, command):
        if self.le_scan_enable:
            return DISALLOWED
        self.le_scan_type = int(command.scan_types[0])
        return super().on_hci_le_set_extended_scan_parameters_command(command)

    def on_hci_le_set_extended_scan_enable_command(self, command):
        self.seen.clear()
        self.scan_extended = True
        self.scan_switched(command.enable)
        return super().on_hci_le_set_extended_scan_enable_command(command)

    def on_hci_le_clear_filter_accept_list_command(self, command):
        self.accept.clear()
        return OK

    def on_hci_le_add_device_to_filter_accept_list_command(self, command):
        self.accept.add((bytes(command.address), int(command.address_type) & 1))
        return OK

    def on_hci_le_remove_device_from_filter_accept_list_command(self, command):
        self.accept.discard((bytes(command.address), int(command.address_type) & 1))
        return OK

    def send_advertising_pdu(self, packet):
        if self.silent or (self.hidden and isinstance(packet, Air)):
            return
        if isinstance(packet, Air):
            packet.rssi = self.rssi + random.randint(-3, 3)
        super().send_advertising_pdu(packet)

    def on_ll_advertising_pdu(self, packet):
        if self.silent or self.hanging:
            return
        if self.mute and isinstance(packet, Air) and not self.pending_le_connection:
            return
        if not isinstance(packet, Air):
            return super().on_ll_advertising_pdu(packet)
        if packet.target is not None and packet.target not in (self.public_address, self.random_address):
            return
        if self.le_scan_enable and not (self.le_scanning_filter_policy & 1 and packet.key not in self.accept):
            self.report(packet, False)
            if self.le_scan_type == 1 and packet.scannable:
                self.report(packet, True)
        pending = self.pending_le_connection
        if pending and packet.connectable and packet.address not in self.le_connections:
            by_list = int(pending.initiator_filter_policy) == 1
            if packet.key in self.accept if by_list else pending.peer_address == packet.address:
                pending.peer_address = packet.address
                self.create_le_connection(packet.address)

    def create_le_connection(self, peer_address):
        # An advertiser that has stopped since does not answer; the initiator waits for the next advertisement.
        if not self.racing and self.link.takes_connections(peer_address):
            super().create_le_connection(peer_address)

    def on_le_connect_ind(self, packet):
        links = len(self.le_connections)
        super().on_le_connect_ind(packet)
        if len(self.le_connections) > links:
            self.begun = packet.interval, packet.latency, packet.timeout

    def report(self, air, is_response):
        address, kind_of_address = air.key
        data = air.rsp if is_response else air.data
        if self.filter_duplicates:
            if (air.key, is_response, air.sid) in self.seen:
                return
            self.seen.add((air.key, is_response, air.sid))
        if self.scan_extended:
            kind = air.connectable | air.scannable << 1 | bool(air.target) << 2 | is_response << 3 | air.legacy << 4
            phy, sid = (0, 0xFF) if air.legacy else (1, air.sid)
            # An event has room for 229 bytes; longer data is fragmented, with all fragments but the last marked incomplete.
            parts = [data[i:i + 229] for i in range(0, len(data), 229)] or [b'']
            for number, part in enumerate(parts, 1):
                more = (number < len(parts)) << 5
                body = struct.pack('<BBHB', 0x0D, 1, kind | more, kind_of_address) + address
                body += struct.pack('<BBBbbHB6sB', 1, phy, sid, 127, air.rssi, 0, 0, bytes(6), len(part)) + part
                self.raw_event(0x3E, body)
            return
        elif air.legacy:
            kind = 4 if is_response else 1 if air.target else 0 if air.connectable else 2 if air.scannable else 3
            body = bytes([2, 1, kind, kind_of_address]) + address + bytes([len(data)]) + data + struct.pack('b', air.rssi)
        else:
            return
        self.raw_event(0x3E, body)

    # -- connecting

    def on_hci_le_create_connection_cancel_command(self, command):
        if self.racing and self.pending_le_connection:
            self.racing = False
            self.create_le_connection(self.pending_le_connection.peer_address)
        pending, self.pending_le_connection = self.pending_le_connection, None
        if not pending:
            return DISALLOWED
        asyncio.get_running_loop().call_soon(self.send_hci_packet, hci.HCI_LE_Connection_Complete_Event(
            status=E.UNKNOWN_CONNECTION_IDENTIFIER_ERROR, connection_handle=0, role=hci.Role.CENTRAL,
            peer_address_type=pending.peer_address.address_type, peer_address=pending.peer_address,
            connection_interval=0, peripheral_latency=0, supervision_timeout=0, central_clock_accuracy=0))
        return OK

    def send_hci_packet(self, packet):
        if isinstance(packet, hci.HCI_LE_Connection_Complete_Event) and self.le_event_mask >> 9 & 1:
            # The host enabled the enhanced event; Linux would otherwise wait for it in vain (4 s per connection).
            old = bytes(packet)[3:]  # sub-event, status, handle, role, address type, address, the rest
            return self.raw_event(0x3E, b'\x0a' + old[1:12] + bytes(12) + old[12:])
        super().send_hci_packet(packet)

    # -- information about a link

    def on_hci_read_rssi_command(self, command):
        link = self.find_le_connection_by_handle(command.handle)
        peer = self.link.find_le_controller(link.peer_address) if link else None
        status = E.SUCCESS if link else E.UNKNOWN_CONNECTION_IDENTIFIER_ERROR
        return hci.HCI_Read_RSSI_ReturnParameters(status, command.handle, peer.rssi if peer else 0)

    def on_hci_read_remote_version_information_command(self, command):
        self._send_hci_command_status(0, command.op_code)
        self.send_hci_packet(
            hci.HCI_Read_Remote_Version_Information_Complete_Event(0, command.connection_handle, 9, 0xFFFF, 0))

    def on_hci_le_set_phy_command(self, command):
        self._send_hci_command_status(0, command.op_code)
        pick = lambda bits: 2 if int(bits) & 2 else 1
        self.send_hci_packet(hci.HCI_LE_PHY_Update_Complete_Event(
            0, command.connection_handle, pick(command.tx_phys), pick(command.rx_phys)))

    def on_hci_le_set_data_length_command(self, command):
        asyncio.get_running_loop().call_soon(self.send_hci_packet, hci.HCI_LE_Data_Length_Change_Event(
            command.connection_handle, command.tx_octets, command.tx_time, 251, 2120))
        return hci.HCI_StatusAndConnectionHandleReturnParameters(E.SUCCESS, command.connection_handle)

    def on_hci_le_read_channel_map_command(self, command):
        return hci.HCI_LE_Read_Channel_Map_ReturnParameters(
            E.SUCCESS, command.connection_handle, bytes.fromhex('ffffffff1f'))

    def on_hci_read_transmit_power_level_command(self, command):
        handle = command.handle if hasattr(command, 'handle') else int.from_bytes(command.parameters[:2], 'little')
        self.raw_event(0x0E, struct.pack('<BHBHb', 1, command.op_code, 0, handle, 4))
