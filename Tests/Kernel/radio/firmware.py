"""Firmware update by the Simple Management Protocol, with the messages of the package smp: a server, and what smpclient does as
a client. The packages are imported when they are needed, since that takes seconds in the guest."""

import hashlib

SERVICE = '8D53DC1D-1DB7-4CD3-868B-8A527460AA84'
MESSAGES = 'DA2E7828-FBCE-4E01-AE9E-261174997C48'


class Server:
    """A device with two slots. An upload continues where it was, if the client names it by the same hash."""

    def __init__(self, buffer_size=512):
        self.buffer_size, self.pending = buffer_size, b''
        self.upload, self.image, self.uploads, self.chunks = None, b'', 0, 0
        self.tested, self.resets = False, 0

    def connected(self): self.pending = b''

    def receive(self, fragment):
        """Takes a fragment; returns the response to a message that is complete, and whether the device restarts."""
        from smp import header, image_management as images, os_management as system
        self.pending += fragment
        if len(self.pending) < 8 or len(self.pending) < 8 + header.Header.loads(self.pending[:8]).length:
            return None, False
        data, self.pending = self.pending, b''
        head = header.Header.loads(data[:8])
        common = {'sequence': head.sequence, 'version': head.version}
        match head.group_id, head.command_id, head.op:
            case 0, 0, header.OP.WRITE:
                text = system.EchoWriteRequest.loads(data).d
                return bytes(system.EchoWriteResponse(**common, r=text)), False
            case 0, 5, header.OP.WRITE:
                system.ResetWriteRequest.loads(data)
                self.resets += 1
                return bytes(system.ResetWriteResponse(**common)), True
            case 0, 6, header.OP.READ:
                system.MCUMgrParametersReadRequest.loads(data)
                return bytes(system.MCUMgrParametersReadResponse(**common, buf_size=self.buffer_size, buf_count=4)), False
            case 1, 0, header.OP.READ:
                images.ImageStatesReadRequest.loads(data)
                return bytes(images.ImageStatesReadResponse(**common, images=self.states())), False
            case 1, 0, header.OP.WRITE:
                request = images.ImageStatesWriteRequest.loads(data)
                self.tested = request.hash == self.hash()
                return bytes(images.ImageStatesWriteResponse(**common, images=self.states())), False
            case 1, 1, header.OP.WRITE:
                request = images.ImageUploadWriteRequest.loads(data)
                return bytes(images.ImageUploadWriteResponse(**common, **self.store(request))), False
        raise ValueError(data.hex())

    def store(self, request):
        self.chunks += 1
        if request.off == 0:
            if len(request.data) < 32:
                raise ValueError('the header of the image is not in the first message')
            if self.upload != (request.sha, request.len) or not request.sha:
                self.upload, self.image = (request.sha, request.len), b''
                self.uploads += 1
        if request.off == len(self.image):
            self.image += request.data
        if len(self.image) < self.upload[1]:
            return {'off': len(self.image)}
        return {'off': len(self.image), 'match': hashlib.sha256(self.image).digest() == self.upload[0]}

    def hash(self):
        """The hash in the trailer of an image whose trailer has nothing else."""
        return self.image[-32:]

    def states(self):
        from smp import image_management as images
        states = [images.ImageState(slot=0, version='1.0.0', hash=bytes(32), bootable=True, confirmed=True, active=True)]
        if self.upload and len(self.image) == self.upload[1]:
            states.append(images.ImageState(slot=1, version='2.0.0', hash=self.hash(), bootable=True, pending=self.tested))
        return states


async def update(connection, image):
    """Updates a device with smpclient on a link of Bumble's; returns the versions of its images, and how often it was sent to."""
    from smpclient import SMPClient
    from smpclient.generics import success
    from smpclient.requests.image_management import ImageStatesRead, ImageStatesWrite
    from smpclient.requests.os_management import EchoWrite, ResetWrite
    from smpclient.transport.bumble import SMPBumbleTransport

    class Borrowed(SMPBumbleTransport):
        async def connect(self, _address, _timeout): await self.use_connection(connection)

    async def answer(request):
        response = await client.request(request, timeout_s=60)
        if not success(response):
            raise ValueError(f'{response}')
        return response

    client, offsets = SMPClient(Borrowed(), 'borrowed', timeout_s=60), []
    await client.connect()
    if (await answer(EchoWrite(d='hello'))).r != 'hello':
        raise ValueError('the echo differs')
    async for offset in client.upload(image):
        offsets.append(offset)
    states = (await answer(ImageStatesRead())).images
    states = (await answer(ImageStatesWrite(hash=states[-1].hash))).images
    await answer(ResetWrite())
    return ','.join(f'{state.version}{"*" if state.pending else ""}' for state in states), len(offsets)
