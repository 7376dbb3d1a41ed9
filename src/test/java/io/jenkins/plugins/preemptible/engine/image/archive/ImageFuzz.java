package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.fail;

import com.github.luben.zstd.ZstdInputStream;
import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.streamingaead.PredefinedStreamingAeadParameters;
import com.google.crypto.tink.streamingaead.StreamingAeadConfig;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Breaks images at random and sees that each is refused.
 *
 * <ol>
 *   <li>A full image, a difference to it and a foreign image are made; their segments are 4 KiB, so that there are many.
 *   <li>Each round changes one: as somebody without the key can, or, within the sealing, as one with the key can.
 *   <li>It has to be refused with a reason, stay as it is byte for byte, and leave nothing in the target or outside.
 * </ol>
 */
final class ImageFuzz {

    /** The ways in which an image is broken. */
    enum Way {
        BITS,
        BYTES,
        CUT,
        CUT_UNDER_A_GOOD_TAIL,
        LONGER,
        SWAPPED_SEGMENTS,
        DOUBLED_SEGMENT,
        SPLICED,
        OTHER_KEY,
        HEAD_AND_TAIL,
        OTHER_IMAGE,
        BROKEN_PARENT,
        SEALED_BITS,
        SEALED_BLOCKS,
        SEALED_CUT,
        SEALED_NUMBERS
    }

    private static final int SEGMENT = 4096;

    private final Random random;
    private final ImageKey key;
    private final Path folder;
    private final Path images;
    private final Path archive;
    private final Path parent;
    private final Path target;
    private final byte[] full;
    private final byte[] difference;
    private final byte[] foreign;
    private final byte[] otherKeys;
    private final Map<Way, Integer> tried = new EnumMap<>(Way.class);
    private final Map<Reason, Integer> reasons = new TreeMap<>();

    ImageFuzz(Path folder, long seed) throws Exception {
        this.folder = folder;
        this.random = new Random(seed);
        this.key = smallSegments();
        this.images = Files.createDirectory(folder.resolve("images"));
        this.archive = folder.resolve("stage.image");
        this.parent = folder.resolve("full.image");
        this.target = folder.resolve("target");
        Path ws = Files.createDirectories(folder.resolve("ws/below")).getParent();
        Files.writeString(ws.resolve("below/file"), "preserved");
        Files.createSymbolicLink(ws.resolve("link"), Path.of("below/file"));
        image(7);
        Path index = folder.resolve("index");
        ImageArchive.write(request(parent).indexed(index));
        full = Files.readAllBytes(parent);
        byte[] pages = Files.readAllBytes(images.resolve("pages-1.img"));
        random.nextBytes(pages);
        System.arraycopy(Files.readAllBytes(images.resolve("pages-1.img")), 0, pages, 0, 3 * BlockHash.BLOCK);
        Files.write(images.resolve("pages-1.img"), pages);
        if (!ImageArchive.write(request(archive).against(index, parent)).difference()) {
            fail("no difference was written");
        }
        difference = Files.readAllBytes(archive);
        image(7);
        ImageArchive.write(request(archive));
        foreign = Files.readAllBytes(archive);
        ImageArchive.write(images, archive, smallSegments(), manifest());
        otherKeys = Files.readAllBytes(archive);
        Files.delete(index);
    }

    private WriteRequest request(Path to) {
        return WriteRequest.of(images, to, key, manifest())
                .preserving(List.of(folder.resolve("ws")))
                .withWorkers(1);
    }

    private static ImageManifest manifest() {
        return new ImageManifest(
                0,
                "s-1",
                "name",
                "2026-11-21T12:00:00Z",
                "4.2.1",
                "6.18",
                "x86_64",
                1,
                0,
                List.of(new ImageManifest.ProcessInfo(1, 0, "init", "/sbin/init")));
    }

    private void image(int pages) throws IOException {
        byte[] bytes = new byte[pages * BlockHash.BLOCK];
        random.nextBytes(bytes);
        Files.write(images.resolve("pages-1.img"), bytes);
        byte[] other = new byte[10 * BlockHash.BLOCK + 100];
        Files.write(images.resolve("pages-2.img"), other);
        Files.writeString(images.resolve("core-1.img"), "registers of process 1");
    }

    private static ImageKey smallSegments() throws Exception {
        StreamingAeadConfig.register();
        return ImageKey.parse(TinkJsonProtoKeysetFormat.serializeKeyset(
                KeysetHandle.generateNew(PredefinedStreamingAeadParameters.AES256_GCM_HKDF_4KB),
                InsecureSecretKeyAccess.get()));
    }

    /** Returns how many there were of each way. */
    Map<Way, Integer> run(int count) throws Exception {
        Map<String, Object> outside = seen();
        Way[] ways = Way.values();
        for (int round = 0; round < count; round++) {
            Way way = ways[round % ways.length];
            ReadRequest request = ReadRequest.of(archive, key).withParent(parent);
            boolean ofDifference = random.nextInt(3) == 0 || way == Way.BROKEN_PARENT;
            byte[] whole = ofDifference ? difference : full;
            byte[] parentBytes = full;
            byte[] broken;
            switch (way) {
                case OTHER_KEY -> broken = otherKeys;
                case OTHER_IMAGE -> {
                    broken = random.nextBoolean() ? foreign : whole;
                    request = request.expecting(
                            random.nextBoolean() ? "s-2" : "s-1", random.nextBoolean() ? 5 : 0, ArchiveFormat.newId());
                }
                case BROKEN_PARENT -> {
                    broken = difference;
                    parentBytes = random.nextInt(4) == 0 ? foreign : brokenSealing(full);
                }
                case SEALED_BITS, SEALED_BLOCKS, SEALED_CUT, SEALED_NUMBERS -> broken = sealedAgain(whole, way);
                default -> broken = broken(whole, way);
            }
            if (Arrays.equals(broken, whole) && way != Way.OTHER_IMAGE && way != Way.BROKEN_PARENT) {
                continue;
            }
            if (Arrays.equals(parentBytes, full) && way == Way.BROKEN_PARENT) {
                continue;
            }
            refuse(way, round, request, broken, parentBytes);
            tried.merge(way, 1, Integer::sum);
        }
        assertEquals(outside, seen(), "something outside of the target changed");
        return tried;
    }

    Map<Reason, Integer> reasons() {
        return reasons;
    }

    private void refuse(Way way, int round, ReadRequest request, byte[] broken, byte[] parentBytes) throws IOException {
        String which = way + ", round " + round;
        Files.write(archive, broken);
        Files.write(parent, parentBytes);
        try {
            ImageArchive.read(request, target);
            fail(which + " was not refused");
        } catch (ImageException e) {
            assertNotNull(e.reason(), which);
            if (e.reason() == Reason.INPUT_OUTPUT) {
                throw new AssertionError(which + " has no reason of its own", e);
            }
            reasons.merge(e.reason(), 1, Integer::sum);
        }
        assertArrayEquals(broken, Files.readAllBytes(archive), which);
        if (Files.exists(target)) {
            fail(which + " left something in the target");
        }
    }

    // Everything but the two archives, which change with each round.
    private Map<String, Object> seen() throws IOException {
        Map<String, Object> seen = new TreeMap<>();
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path each : all.toList()) {
                if (!each.equals(archive) && !each.equals(parent) && !each.equals(folder)) {
                    seen.put(each.toString(), Files.getLastModifiedTime(each, java.nio.file.LinkOption.NOFOLLOW_LINKS));
                }
            }
        }
        return seen;
    }

    private byte[] brokenSealing(byte[] whole) {
        return broken(
                whole,
                List.of(Way.BITS, Way.CUT, Way.SWAPPED_SEGMENTS, Way.SPLICED).get(random.nextInt(4)));
    }

    private byte[] broken(byte[] whole, Way way) {
        int at = random.nextInt(whole.length);
        int length = Math.min(1 + random.nextInt(200), whole.length - at);
        byte[] changed = whole.clone();
        switch (way) {
            case BITS -> {
                for (int i = random.nextInt(3); i >= 0; i--) {
                    changed[random.nextInt(whole.length)] ^= (byte) (1 << random.nextInt(8));
                }
            }
            case BYTES -> System.arraycopy(whole, random.nextInt(whole.length - length), changed, at, length);
            case CUT -> changed = Arrays.copyOf(whole, at);
            case CUT_UNDER_A_GOOD_TAIL -> changed = withTail(Arrays.copyOf(whole, Math.max(at, 26)));
            case LONGER -> {
                changed = Arrays.copyOf(whole, whole.length + length);
                System.arraycopy(whole, at, changed, whole.length, length);
                changed = random.nextBoolean() ? withTail(changed) : changed;
            }
            case HEAD_AND_TAIL -> {
                int place = random.nextInt(ArchiveFormat.HEAD_BYTES + 40 + ArchiveFormat.TAIL_BYTES);
                place = place < ArchiveFormat.HEAD_BYTES + 40 ? place : whole.length - 1 - (place - 50);
                changed[place] = (byte) random.nextInt(256);
            }
            case SWAPPED_SEGMENTS -> {
                int one = segment(whole);
                int other = segment(whole);
                System.arraycopy(whole, one, changed, other, SEGMENT);
                System.arraycopy(whole, other, changed, one, SEGMENT);
            }
            case DOUBLED_SEGMENT -> {
                int one = segment(whole);
                changed = new byte[whole.length + SEGMENT];
                System.arraycopy(whole, 0, changed, 0, one + SEGMENT);
                System.arraycopy(whole, one, changed, one + SEGMENT, whole.length - one);
                changed = withTail(changed);
            }
            case SPLICED -> {
                int from = segment(whole);
                byte[] other = random.nextBoolean() ? foreign : whole == full ? difference : full;
                int size = Math.min(SEGMENT * (1 + random.nextInt(3)), Math.min(other.length, whole.length) - from);
                if (size > 0) {
                    System.arraycopy(other, from, changed, from, size);
                    changed = withTail(changed);
                }
            }
            default -> throw new IllegalArgumentException(way.toString());
        }
        return changed;
    }

    private int segment(byte[] whole) {
        int segments = (whole.length - ArchiveFormat.HEAD_BYTES - ArchiveFormat.TAIL_BYTES) / SEGMENT;
        return ArchiveFormat.HEAD_BYTES + SEGMENT * random.nextInt(Math.max(1, segments));
    }

    private static byte[] withTail(byte[] bytes) {
        byte[] tail = ArchiveFormat.tail(bytes.length);
        System.arraycopy(tail, 0, bytes, bytes.length - tail.length, tail.length);
        return bytes;
    }

    /** Opens the sealing, changes the tar, and seals it again with the right key. */
    private byte[] sealedAgain(byte[] whole, Way way) throws Exception {
        byte[] tar = tar(whole);
        int blocks = tar.length / ArchiveFormat.TAR_BLOCK;
        switch (way) {
            case SEALED_BITS -> {
                // The end of the padding carries nothing, but is compared all the same.
                for (int i = random.nextInt(3); i >= 0; i--) {
                    tar[random.nextInt(tar.length)] ^= (byte) (1 << random.nextInt(8));
                }
            }
            case SEALED_BLOCKS -> {
                int from = ArchiveFormat.TAR_BLOCK * random.nextInt(blocks);
                int to = ArchiveFormat.TAR_BLOCK * random.nextInt(blocks);
                byte[] moved = Arrays.copyOfRange(tar, from, from + ArchiveFormat.TAR_BLOCK);
                if (Arrays.equals(moved, Arrays.copyOfRange(tar, to, to + ArchiveFormat.TAR_BLOCK))) {
                    return whole;
                }
                System.arraycopy(moved, 0, tar, to, moved.length);
            }
            case SEALED_CUT -> {
                // Less padding at the end than a writer makes is still a whole tar.
                tar = Arrays.copyOf(tar, random.nextInt(tar.length - 20 * ArchiveFormat.TAR_BLOCK));
            }
            default -> {
                int header = header(tar);
                int field = List.of(100, 124, 136, 156, 157, 257, 0).get(random.nextInt(7));
                tar[header + field + random.nextInt(8)] = (byte) random.nextInt(256);
            }
        }
        if (Arrays.equals(tar, tar(whole))) {
            return whole;
        }
        return CraftedArchive.seal(key, CraftedArchive.zstd(tar));
    }

    // Any of the headers: they are where "ustar" is.
    private int header(byte[] tar) {
        int blocks = tar.length / ArchiveFormat.TAR_BLOCK;
        int block = random.nextInt(blocks);
        for (int i = 0; i < blocks; i++) {
            int at = (block + i) % blocks * ArchiveFormat.TAR_BLOCK;
            if (tar[at + 257] == 'u' && tar[at + 258] == 's' && tar[at + 259] == 't') {
                return at;
            }
        }
        throw new IllegalStateException("a tar without headers");
    }

    private final Map<Integer, byte[]> tars = new TreeMap<>();

    private byte[] tar(byte[] whole) throws Exception {
        byte[] known = tars.get(System.identityHashCode(whole));
        if (known == null) {
            InputStream body = new ByteArrayInputStream(
                    whole,
                    ArchiveFormat.HEAD_BYTES,
                    whole.length - ArchiveFormat.HEAD_BYTES - ArchiveFormat.TAIL_BYTES);
            known = new ZstdInputStream(key.cipher().newDecryptingStream(body, ArchiveFormat.head())).readAllBytes();
            tars.put(System.identityHashCode(whole), known);
        }
        return known.clone();
    }
}
