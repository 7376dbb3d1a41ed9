package io.jenkins.plugins.preemptible.engine.image;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The fixed bytes, names and limits of an archive, known to its writer and its reader.
 *
 * <ol>
 *   <li>The head is magic and version, and is the associated data of the encryption.
 *   <li>The tail is the file's whole length and a magic of its own.
 *   <li>Manifest and seal are JSON entries with reserved names.
 * </ol>
 */
final class ArchiveFormat {

    static final byte[] MAGIC = "PREEMPT\n".getBytes(StandardCharsets.US_ASCII);
    static final byte[] END_MAGIC = "PREEMEND".getBytes(StandardCharsets.US_ASCII);
    static final int HEAD_BYTES = MAGIC.length + Short.BYTES;
    static final int TAIL_BYTES = Long.BYTES + END_MAGIC.length;

    static final String MANIFEST = "manifest.json";
    static final String SEAL = "seal.json";

    /** Largest JSON entry: 100,000 processes with long command lines fit. */
    static final int LARGEST_JSON = 64 * 1024 * 1024;

    /** CRIU writes a handful of files per process; a million is far beyond any tree that it can restore. */
    static final int MOST_ENTRIES = 1_000_000;

    static final int LONGEST_NAME = 255;

    private ArchiveFormat() {}

    /** Last entry of the tar: how many image files came before it, and their bytes. */
    record Seal(int entries, long bytes) {}

    static byte[] head() {
        return ByteBuffer.allocate(HEAD_BYTES)
                .put(MAGIC)
                .putShort((short) ImageArchive.FORMAT_VERSION)
                .array();
    }

    static byte[] tail(long fileBytes) {
        return ByteBuffer.allocate(TAIL_BYTES).putLong(fileBytes).put(END_MAGIC).array();
    }

    /** Whether a name may be that of an image file: one plain name, no way out of the folder, no control characters. */
    static boolean isSafeName(String name) {
        return !name.isEmpty()
                && name.length() <= LONGEST_NAME
                && name.charAt(0) != '.'
                && name.chars().allMatch(c -> c > ' ' && c < 127 && c != '/' && c != '\\')
                && !name.equals(MANIFEST)
                && !name.equals(SEAL);
    }

    static ObjectMapper json() {
        return Json.MAPPER;
    }

    // Made on first use only: the classes of this package are also loaded where nobody reads a manifest.
    private static final class Json {
        static final ObjectMapper MAPPER = JsonMapper.builder()
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .build();
    }
}
