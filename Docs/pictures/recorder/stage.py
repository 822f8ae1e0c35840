"""Records programs on pseudo terminals: a stage has one or more panes, and the frames that they show one after another."""
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import sys
import tempfile
import termios
import time

import pyte

# pyte has no faint text; no program here blinks.
pyte.graphics.TEXT[2] = '+blink'
TIME_LIMIT = 60


class Pane:
    """A terminal of the picture."""

    def __init__(self, stage, title, columns, rows):
        self.stage, self.title, self.columns, self.rows = stage, title, columns, rows
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.is_dirty = True
        self.process = self.descriptor = None
        self.heard = ''
        self.feed(b'\x1b[2m$\x1b[0m ')

    def feed(self, data):
        self.stream.feed(data)
        self.is_dirty = True

    def start(self, command):
        """Shows the command at the prompt, and starts it."""
        self.stage.pause(0.4)
        self.feed(command.encode() + b'\r\n')
        self.stage.pause(0.6)
        self.heard = ''
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            # The size first, since programs ask for it as they begin.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', self.rows, self.columns, 0, 0))
            os.chdir(self.stage.folder)
            os.execvpe('/bin/sh', ['sh', '-c', 'exec ' + command], self.stage.environment)

    def run(self, command):
        """Runs a command to its end; returns its exit status."""
        self.start(command)
        return self.ended()

    def ended(self):
        self.stage.pump(lambda: self.descriptor is None, TIME_LIMIT, f'{self.title} does not end')
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        self.process = None
        self.feed(b'\x1b[2m$\x1b[0m ')
        return status

    def wait_for(self, text):
        """Waits until the program has printed the text, since its start or the last wait."""
        self.stage.pump(lambda: text in self.heard, TIME_LIMIT, f'{self.title} does not print {text!r}: {self.heard!r}')
        self.heard = self.heard.split(text, 1)[1]

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def stop(self):
        os.kill(self.process, signal.SIGINT)
        return self.ended()

    def end(self):
        """Ends the program without showing it; SIGTERM lets it remove its files."""
        os.kill(self.process, signal.SIGTERM)
        deadline = time.monotonic() + 3
        while os.waitpid(self.process, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(self.process, signal.SIGKILL)
            time.sleep(0.02)
        self.process = None

    def receive(self):
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:  # EIO: the program has ended
            data = b''
        if data:
            self.heard += data.decode(errors='replace')
            return self.feed(data)
        os.close(self.descriptor)
        self.descriptor = None

    def cells(self):
        """What the pane shows: runs of (row, column, text, style), and the cursor."""
        runs = []
        for row in range(self.rows):
            line, last = self.screen.buffer[row], None
            for column in range(self.columns):
                char = line[column]
                style = (char.fg, char.bold, char.blink, char.reverse)
                if last and last[3] == style and last[1] + len(last[2]) == column:
                    last[2] += char.data
                else:
                    last = [row, column, char.data, style]
                    runs.append(last)
        cursor = self.screen.cursor
        return tuple(map(tuple, runs)), None if cursor.hidden else (cursor.y, min(cursor.x, self.columns - 1))


class Stage:
    """The panes of a picture, above each other, and their frames."""

    def __init__(self, programs):
        self.folder = tempfile.mkdtemp(prefix='pictures')
        self.environment = {
            'PATH': programs + os.pathsep + os.environ['PATH'], 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8', 'HOME': self.folder}
        self.panes, self.frames = [], []
        self.beginning = time.monotonic()
        self.still = None

    def pane(self, title, columns, rows):
        self.panes.append(Pane(self, title, columns, rows))
        return self.panes[-1]

    def mark_still(self):
        """Chooses what is shown to readers who prefer reduced motion: the present frame."""
        self.pause(0.1)
        self.still = len(self.frames) - 1

    def pause(self, seconds):
        end = time.monotonic() + seconds
        self.pump(lambda: time.monotonic() >= end, seconds + 1, '')

    def pump(self, is_done, limit, problem):
        """Shows what the programs print until something is done."""
        deadline = time.monotonic() + limit
        while not is_done():
            if time.monotonic() > deadline:
                self.close()
                sys.exit(f'record: {problem}')
            by_descriptor = {pane.descriptor: pane for pane in self.panes if pane.descriptor is not None}
            for descriptor in select.select(list(by_descriptor), [], [], 0.02)[0]:
                by_descriptor[descriptor].receive()
            if any(pane.is_dirty for pane in self.panes):
                self.snapshot()
        self.snapshot()

    def snapshot(self):
        frame = tuple(pane.cells() for pane in self.panes)
        for pane in self.panes:
            pane.is_dirty = False
        if not self.frames or self.frames[-1][1] != frame:
            self.frames.append((time.monotonic() - self.beginning, frame))

    def close(self):
        for pane in self.panes:
            if pane.process:
                pane.end()
        shutil.rmtree(self.folder, ignore_errors=True)
