"""Reads an image by nothing but docs/image-format.md: read_image.py KEY-FILE IMAGE. Prints name, size and SHA-256."""
import base64, hashlib, json, struct, subprocess, sys
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def fields(data):
    """The fields of a protobuf message: number to value."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found[tag >> 3] = varint()
        else:
            size = varint()
            found[tag >> 3] = data[at:at + size]
            at += size
    return found


keyset = json.load(open(sys.argv[1]))
key = fields(base64.b64decode(keyset["key"][0]["keyData"]["value"]))
segment_bytes, secret = fields(key[2])[1], key[3]

raw = open(sys.argv[2], "rb").read()
head, tail = raw[:10], raw[-16:]
assert head[:8] == b"PREEMPT\n" and struct.unpack(">H", head[8:])[0] == 2, "head"
assert struct.unpack(">Q", tail[:8])[0] == len(raw) and tail[8:] == b"PREEMEND", "tail"

body = raw[10:-16]
assert body[0] == 40, "header of the stream"
salt, prefix = body[1:33], body[33:40]
gcm = AESGCM(HKDF(hashes.SHA256(), 32, salt, head).derive(secret))
plain, at, number = b"", 40, 0
while at < len(body):
    size = segment_bytes - (40 if number == 0 else 0)
    last = at + size >= len(body)
    plain += gcm.decrypt(prefix + struct.pack(">IB", number, last), body[at:at + size], b"")
    at, number = at + size, number + 1

tar = subprocess.run(["zstd", "-dc"], input=plain, stdout=subprocess.PIPE, check=True).stdout


def entry(at):
    header = tar[at:at + 512]
    field = header[124:136]
    size = int.from_bytes(field[1:], "big") if field[0] & 128 else int(field.strip(b" \0"), 8)
    assert header[156:157] == b"0", "no plain file"
    return header[:100].rstrip(b"\0").decode(), tar[at + 512:at + 512 + size], at + 512 + (size + 511) // 512 * 512


name, text, at = entry(0)
assert name == "manifest.json"
manifest = json.loads(text)
stored = 0
for each in manifest["entries"]:
    name, content, at = entry(at)
    assert name == each["name"] and len(content) == each["stored"], "entry"
    leaves = b"".join(hashlib.sha256(content[i:i + 4096]).digest() for i in range(0, len(content), 4096))
    assert hashlib.sha256(leaves).hexdigest() == each["sha256"], "digest"
    print(name, len(content), hashlib.sha256(content).hexdigest())
    stored += len(content)
name, seal, at = entry(at)
seal = json.loads(seal)
assert name == "seal.json" and seal["image_id"] == manifest["image_id"] and seal["bytes"] == stored, "seal"
assert seal["manifest_sha256"] == hashlib.sha256(text).hexdigest(), "seal of the manifest"
assert not tar[at:].strip(b"\0"), "end"
