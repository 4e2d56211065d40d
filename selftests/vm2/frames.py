#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""frames.py CAPTURE ADDRESS...: is what ADDRESS sends, in a capture of RoCEv2, what an RDS peer sends?

ADDRESSes are those of our module; the other machine's frames serve as context. The rules are those that captures of two
stock machines keep to. Prints TAP: one line for each rule, which fails with its first few offenders; a rule that met
nothing to judge fails, too.
"""

import collections
import ipaddress
import struct
import sys

ROCE_PORT = 4791
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4
WRITE_FIRST, WRITE_ONLY, READ_REQUEST, UD_SEND_ONLY = 6, 10, 12, 100
CM_REQ, CM_REP = 0x10, 0x13
HEADER = struct.Struct(">QQIHHBB4sH16s")
MAP, ACK_REQUIRED, RETRANSMITTED = 1, 2, 4
FRAGMENT, MAP_LEN = 4096, 8192

Header = collections.namedtuple("Header", "seq ack len sport dport flags credit pad csum ext")
Packet = collections.namedtuple("Packet", "at src dst qp opcode solicited psn body")
Frame = collections.namedtuple("Frame", "at src dst qp header payload solicited early raw")


class Rules:
    """What was asked how often, and who did not keep to it."""

    def __init__(self):
        self.asked = collections.Counter()
        self.broken = collections.defaultdict(list)

    def rule(self, name, good, what=""):
        self.asked[name] += 1
        if not good:
            self.broken[name].append(what)
        return good

    def tap(self, expected):
        names = list(dict.fromkeys([*expected, *self.asked]))
        for number, name in enumerate(names, 1):
            good = self.asked[name] and not self.broken[name]
            for what in self.broken[name][:5]:
                print(f"# {name}: {what}")
            if not self.asked[name]:
                print(f"# {name}: nothing to judge in this capture")
            print(f"{'' if good else 'not '}ok {number} - {name} ({self.asked[name]})")
        print(f"1..{len(names)}")
        return 0 if all(self.asked[n] and not self.broken[n] for n in names) else 1


# -- from the file to frames ------------------------------------------------------------------------------------------

def records(data):
    offset, number = 24, 0
    while offset + 16 <= len(data):
        _, _, captured, length = struct.unpack_from("<IIII", data, offset)
        number += 1
        if captured == length:
            yield number, data[offset + 16:offset + 16 + captured]
        offset += 16 + captured


def ip_payload(frame):
    """(source, destination, UDP payload) of a RoCEv2 packet, or None."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and frame[23] == 17:
        start = 14 + (frame[14] & 15) * 4
        source, target = frame[26:30], frame[30:34]
    elif kind == b"\x86\xdd" and frame[20] == 17:
        start = 54
        source, target = frame[22:38], frame[38:54]
    else:
        return None
    port, length = struct.unpack_from(">HH", frame, start + 2)
    if port != ROCE_PORT:
        return None
    return ipaddress.ip_address(source), ipaddress.ip_address(target), frame[start + 8:start + length]


def packets(data):
    """Each packet once: what is sent again after a loss has a number that was seen."""
    seen = set()
    for at, frame in records(data):
        found = ip_payload(frame)
        if not found:
            continue
        source, target, p = found
        opcode, bits = p[0], p[1]
        psn = int.from_bytes(p[9:12], "big")
        body = p[12:len(p) - 4 - (bits >> 4 & 3)]
        packet = Packet(at, source, target, int.from_bytes(p[5:8], "big"), opcode, bool(bits & 0x80), psn, body)
        key = (source, packet.qp, opcode, psn)
        if opcode != UD_SEND_ONLY and key in seen:
            continue
        seen.add(key)
        yield packet


def checksum_right(raw):
    total = sum(struct.unpack(">24H", raw))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total == 0xffff


def frame_of(parts):
    """One SEND, of one packet or several."""
    first, last = parts[0], parts[-1]
    raw = b"".join(p.body for p in parts)
    return Frame(first.at, first.src, first.dst, first.qp, Header(*HEADER.unpack_from(raw)), len(raw) - HEADER.size,
                 last.solicited, any(p.solicited for p in parts[:-1]), raw[:HEADER.size])


class Frames:
    """Puts the SENDs of each direction together."""

    def __init__(self):
        self.parts = {}

    def take(self, packet):
        key = (packet.src, packet.qp)
        if packet.opcode == SEND_ONLY:
            return frame_of([packet])
        if packet.opcode == SEND_FIRST:
            self.parts[key] = [packet]
        elif packet.opcode in (SEND_MIDDLE, SEND_LAST) and key in self.parts:
            self.parts[key].append(packet)
            if packet.opcode == SEND_LAST:
                return frame_of(self.parts.pop(key))
        return None


# -- the rules --------------------------------------------------------------------------------------------------------

def extensions(area):
    """{type: data}, as far as a peer parses."""
    lengths, found = {1: 4, 2: 4, 3: 8, 5: 2, 6: 4}, {}
    offset = 0
    while offset < len(area) and 0 < area[offset] < 16:
        kind = area[offset]
        data = area[offset + 1:offset + 1 + lengths.get(kind, 0)]
        found.setdefault(kind, data)
        offset += 1 + len(data)
    return found


class Direction:
    """What one side has sent over one queue pair."""

    def __init__(self):
        self.frames = 0
        self.open = None        # first frame of a message whose last one is to come
        self.bytes = 0
        self.seq = None
        self.ack = 0
        self.keys = []          # of RDMA requests since the last message


class Judge:
    def __init__(self, ours):
        self.ours = ours
        self.rules = Rules()
        self.rule = self.rules.rule
        self.directions = collections.defaultdict(Direction)
        self.sent_to_us = collections.defaultdict(int)      # highest number, by address
        self.wanted = {}                                    # an ack, by address
        self.frames = Frames()

    def private_data(self, packet):
        mad = packet.body[8:]
        kind, data = struct.unpack_from(">H", mad, 16)[0], mad[24:]
        if kind not in (CM_REQ, CM_REP):
            return
        private = data[140 + 36:] if kind == CM_REQ else data[36:]
        size = len(packet.src.packed)
        sender, receiver = private[:size], private[size:2 * size]
        major, minor, mask, tos, reserved, fragment, ack, credit = struct.unpack_from(">BBHBBHQI", private, 2 * size)
        what = f"packet {packet.at}: {private[:2 * size + 24].hex()}"
        self.rule("private data names both addresses", (sender, receiver) == (packet.src.packed, packet.dst.packed), what)
        self.rule("private data says version 3.1, mask 3", (major, minor, mask) == (3, 1, 3), what)
        self.rule("private data names a type of service that a test asked for", tos in (0, 5, 200), what)
        self.rule("private data is zero otherwise", not any((reserved, fragment, ack, credit)), what)

    def request(self, packet, direction):
        if packet.opcode in (WRITE_FIRST, WRITE_ONLY, READ_REQUEST):
            direction.keys.append(struct.unpack_from(">QI", packet.body)[1])

    def acknowledges(self, frame, direction, what):
        """Numbers come from the other direction, and only grow."""
        highest = self.sent_to_us[frame.src]
        self.rule("acks name numbers that came in", frame.header.ack <= highest, f"{what}, highest {highest}")
        self.rule("acks do not go back", frame.header.ack >= direction.ack, what)
        direction.ack = frame.header.ack
        if frame.header.ack >= self.wanted.get(frame.src, 0):
            self.wanted.pop(frame.src, None)

    def ours_sent(self, frame):
        header, direction = frame.header, self.directions[frame.src, frame.qp]
        what = f"packet {frame.at}: {header}, {frame.payload} bytes"
        self.rule("checksums are right", header.csum and checksum_right(frame.raw), what)
        self.rule("padding and credits are zero", header.pad == bytes(4) and not header.credit, what)
        self.acknowledges(frame, direction, what)
        self.rule("no packet but a frame's last is solicited", not frame.early, what)
        if not header.seq and not header.sport and not header.dport and not frame.payload:
            self.rule("ack frames are solicited and otherwise zero",
                      frame.solicited and not any((header.len, header.flags, *header.ext)), what)
        else:
            self.fragment(frame, direction, what)
        direction.frames += 1

    def fragment(self, frame, direction, what):
        header = frame.header
        first = direction.open is None
        if first:
            direction.open, direction.bytes = header, 0
            self.message(frame, direction, what)
        else:
            begun = direction.open
            self.rule("fragments of a message agree",
                      (header.seq, header.len, header.sport, header.dport) == (begun.seq, begun.len, begun.sport, begun.dport),
                      what)
        direction.bytes += frame.payload
        last = direction.bytes == header.len
        self.rule("fragments are full, but the last", frame.payload == FRAGMENT if not last else frame.payload <= FRAGMENT, what)
        self.rule("a message's last frame is solicited, and no other", frame.solicited == last, what)
        if last:
            direction.open = None

    def message(self, frame, direction, what):
        header, found = frame.header, extensions(frame.header.ext)
        is_map = header.flags == MAP
        if not direction.frames:
            self.rule("a congestion map goes first", is_map, what)
        if is_map:
            self.rule("maps have no number, ports or extension, and 8192 bytes",
                      (header.seq, header.sport, header.dport, header.len) == (0, 0, 0, MAP_LEN) and not any(header.ext), what)
            return
        self.rule("no message has the map's flag or one that is not assigned", not header.flags & ~(ACK_REQUIRED | RETRANSMITTED),
                  what)
        if header.seq == 1:
            self.rule("message 1 asks for an ack", header.flags & ACK_REQUIRED, what)
        if direction.seq is not None:
            silent = header.seq - direction.seq - 1
            self.rule("numbers count up by one, and one for each silent operation",
                      0 <= silent <= len(direction.keys), f"{what} after {direction.seq}")
        direction.seq = header.seq
        if 2 in found:
            key = struct.unpack(">I", found[2])[0]
            self.rule("a message that tells of an operation comes behind it", key in direction.keys, what)
        direction.keys = []
        if 3 in found:
            self.rule("a cookie is sent as key and offset in the page", struct.unpack(">II", found[3])[1] < 4096, what)
        self.rule("what follows the extensions is zero", not any(header.ext[sum(1 + len(d) for d in found.values()):]), what)

    def theirs_sent(self, frame):
        header = frame.header
        if header.seq:
            self.sent_to_us[frame.dst] = max(self.sent_to_us[frame.dst], header.seq)
        if header.flags & ACK_REQUIRED:
            self.wanted[frame.dst] = header.seq

    def judge(self, data):
        for packet in packets(data):
            if packet.opcode == UD_SEND_ONLY:
                if packet.src in self.ours:
                    self.private_data(packet)
                continue
            if packet.src in self.ours:
                self.request(packet, self.directions[packet.src, packet.qp])
            frame = self.frames.take(packet)
            if frame and frame.src in self.ours:
                self.ours_sent(frame)
            elif frame:
                self.theirs_sent(frame)
        self.rule("what asked for an ack has got one", not self.wanted, f"not acknowledged: {self.wanted}")


EXPECTED = (
    "private data names both addresses", "checksums are right", "acks name numbers that came in",
    "ack frames are solicited and otherwise zero", "fragments of a message agree", "fragments are full, but the last",
    "a message's last frame is solicited, and no other", "a congestion map goes first",
    "maps have no number, ports or extension, and 8192 bytes", "message 1 asks for an ack",
    "numbers count up by one, and one for each silent operation",
    "a message that tells of an operation comes behind it", "a cookie is sent as key and offset in the page",
)


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: frames.py CAPTURE ADDRESS...")
    judge = Judge({ipaddress.ip_address(text) for text in sys.argv[2:]})
    judge.judge(open(sys.argv[1], "rb").read())
    return judge.rules.tap(EXPECTED)


if __name__ == "__main__":
    sys.exit(main())
