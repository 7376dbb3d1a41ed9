package io.jenkins.plugins.preemptible.engine.image;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.apache.commons.compress.archivers.zip.ZipEncodingHelper;

/**
 * The fixed bytes, names and limits of an archive, known to its writer and its reader.
 *
 * <ol>
 *   <li>The head is magic and version, and is the associated data of the encryption.
 *   <li>The tail is the file's whole length and a magic of its own.
 *   <li>Every tar header follows from its entry's name and size alone, so a reader compares it byte for byte.
 * </ol>
 */
public final class ArchiveFormat {

    private static final byte[] MAGIC = "PREEMPT\n".getBytes(StandardCharsets.US_ASCII);
    static final byte[] END_MAGIC = "PREEMEND".getBytes(StandardCharsets.US_ASCII);
    public static final int MAGIC_BYTES = MAGIC.length;
    public static final int HEAD_BYTES = MAGIC_BYTES + Short.BYTES;
    public static final int TAIL_BYTES = Long.BYTES + END_MAGIC.length;
    public static final int ID_BYTES = 16;

    public static final String MANIFEST = "manifest.json";
    public static final String REFERENCES = "references.bin";
    public static final String SEAL = "seal.json";
    public static final String PRESERVED = "preserved/";

    /** One block of tar. */
    public static final int TAR_BLOCK = 512;

    /** One zstd frame before compression, and what is read and hashed at a time. */
    public static final int CHUNK = 1 << 20;

    /** Largest JSON entry: 100,000 processes with long command lines fit, or 200,000 preserved files. */
    public static final int LARGEST_JSON = 64 * 1024 * 1024;

    /** CRIU writes a handful of files per process; a million is far beyond any tree that it can restore. */
    public static final int MOST_ENTRIES = 1_000_000;

    /** Their names are held in memory; more than most workspaces have. */
    public static final int MOST_PRESERVED = 200_000;

    static final int LONGEST_NAME = 99;

    private static final List<String> CONTENT = List.of("ghost-file-", "pagemap-", "pages-", "tmpfs-");

    private static final SecureRandom RANDOM = new SecureRandom();

    private ArchiveFormat() {}

    /** Whether a file that begins so may be an archive, as far as its magic is there. */
    public static boolean beginsLikeOne(byte[] head) {
        int bytes = Math.min(head.length, MAGIC_BYTES);
        return Arrays.equals(head, 0, bytes, MAGIC, 0, bytes);
    }

    /**
     * Last entry of the tar.
     *
     * @param imageId as in the manifest
     * @param entries how many entries lie between manifest and seal
     * @param bytes that those have in the tar
     * @param manifestSha256 of the bytes of the manifest entry, in hexadecimal
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record Seal(String imageId, int entries, long bytes, String manifestSha256) {}

    public static byte[] head() {
        return ByteBuffer.allocate(HEAD_BYTES)
                .put(MAGIC)
                .putShort((short) ImageManifest.FORMAT_VERSION)
                .array();
    }

    public static byte[] tail(long fileBytes) {
        return ByteBuffer.allocate(TAIL_BYTES).putLong(fileBytes).put(END_MAGIC).array();
    }

    /** Whether a file of that length ends as an archive does. */
    public static boolean endsWithTail(FileChannel file, long fileBytes) throws IOException {
        return fileBytes >= HEAD_BYTES + TAIL_BYTES
                && Arrays.equals(bytesAt(file, fileBytes - TAIL_BYTES, TAIL_BYTES), tail(fileBytes));
    }

    /** @return fewer where the file ends before */
    public static byte[] bytesAt(FileChannel file, long position, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining() && file.read(buffer, position + buffer.position()) >= 0) {}
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    /** Whether a name may be that of an image file: one plain name, no way out of the folder, no control characters. */
    public static boolean isSafeName(String name) {
        return name != null
                && !name.isEmpty()
                && name.length() <= LONGEST_NAME
                && name.charAt(0) != '.'
                && name.chars().allMatch(c -> c > ' ' && c < 127 && c != '/' && c != '\\')
                && !name.equals(MANIFEST)
                && !name.equals(REFERENCES)
                && !name.equals(SEAL)
                && !(name + "/").equals(PRESERVED);
    }

    /**
     * Whether an image file of this name has the content of memory or of files; those are large, and lie behind all others
     * (in archives of earlier versions: anywhere).
     */
    public static boolean isContent(String name) {
        return CONTENT.stream().anyMatch(name::startsWith);
    }

    /** Entry of the content of the preserved file with this number in the manifest's list. */
    public static String preservedName(int number) {
        return PRESERVED + number;
    }

    public static TarArchiveEntry tarEntry(String name, long bytes) {
        TarArchiveEntry entry = new TarArchiveEntry(name, TarConstants.LF_NORMAL);
        entry.setSize(bytes);
        entry.setMode(0600);
        entry.setIds(0, 0);
        entry.setNames("", "");
        entry.setModTime(0L);
        return entry;
    }

    public static byte[] tarHeader(String name, long bytes) throws IOException {
        byte[] header = new byte[TAR_BLOCK];
        tarEntry(name, bytes).writeEntryHeader(header, ZipEncodingHelper.getZipEncoding("UTF-8"), true);
        return header;
    }

    public static String newId() {
        byte[] id = new byte[ID_BYTES];
        RANDOM.nextBytes(id);
        return hex(id);
    }

    public static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    public static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex);
    }

    /** A new file that only its owner may read; fails when there is one of this name. */
    public static OutputStream newPrivateFile(Path file) throws IOException {
        return Channels.newOutputStream(Files.newByteChannel(
                file,
                Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))));
    }

    public static ObjectMapper json() {
        return Json.MAPPER;
    }

    // Made on first use only: the classes of this package are also loaded where no manifest is read.
    private static final class Json {
        static final ObjectMapper MAPPER = JsonMapper.builder()
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
                .disable(JsonParser.Feature.AUTO_CLOSE_SOURCE)
                .serializationInclusion(JsonInclude.Include.NON_NULL)
                .build();
    }
}
