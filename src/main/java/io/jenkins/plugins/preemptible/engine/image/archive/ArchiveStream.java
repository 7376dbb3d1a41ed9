package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.MISSING;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.NOT_AN_IMAGE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.OTHER_VERSION;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TRUNCATED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.WRONG_KEY_OR_TAMPERED;

import com.github.luben.zstd.ZstdInputStream;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.util.function.BooleanSupplier;
import org.apache.commons.io.input.BoundedInputStream;

/**
 * The chain of streams by which an archive is read.
 *
 * <ol>
 *   <li>Head and tail are read first: they tell a foreign, other or cut file without any cryptography. A file that
 *       is still being written is read up to its tail.
 *   <li>The decrypting stream gives out no byte of a segment before it was checked; what follows sees only those.
 *   <li>Every failure comes out as an {@link ImageException} with a reason.
 * </ol>
 */
final class ArchiveStream {

    // A frame is a MiB; a crafted one must not make zstd take 128 MB for its window.
    private static final int LARGEST_WINDOW_LOG = 21;

    private final Path archive;
    private final ImageKey key;
    private final Arrival arrival;
    private final BooleanSupplier cancelled;

    ArchiveStream(ReadRequest request) {
        this.archive = request.archive();
        this.key = request.key();
        this.arrival = request.arrival();
        this.cancelled = request.cancelled();
    }

    /** What is done with an open archive. */
    interface Use<T> {
        T of(TarInput tar, FileChannel file) throws IOException;
    }

    /** @param whole whether all of it is going to be read, which is worth a thread; else the end of one that arrives is not awaited */
    <T> T use(boolean whole, Use<T> use) throws ImageException {
        return use(whole, true, use);
    }

    /**
     * Reads a file that may be cut off.
     *
     * @throws ImageException also where what is read lies behind the end: any reason but MISSING
     */
    <T> T useBeginning(Use<T> use) throws ImageException {
        return use(false, false, use);
    }

    private <T> T use(boolean whole, boolean hasTail, Use<T> use) throws ImageException {
        if (!Files.isReadable(archive)) {
            throw new ImageException(MISSING, archive, null, null);
        }
        if (Files.isDirectory(archive)) {
            throw new ImageException(NOT_AN_IMAGE, archive, "it is a folder", null);
        }
        try (FileChannel channel = FileChannel.open(archive, StandardOpenOption.READ)) {
            InputStream body = arrival == null ? bodyOf(channel, hasTail) : arrivingBodyOf(channel);
            long thereBytes = channel.size();
            if (whole && thereBytes >= CipherWarmUp.WORTH_BYTES) {
                CipherWarmUp.await();
            }
            boolean isLarge = arrival != null || thereBytes > ArchiveFormat.CHUNK;
            try (InputStream decrypted = key.cipher().newDecryptingStream(body, ArchiveFormat.head());
                    InputStream zstd = new ZstdInputStream(decrypted).setLongMax(LARGEST_WINDOW_LOG);
                    InputStream plain = whole && isLarge ? new ReadAhead(zstd) : zstd) {
                T used = use.of(new TarInput(plain, archive), channel);
                if (arrival != null && whole) {
                    arrival.beyond(Long.MAX_VALUE, channel, cancelled);
                }
                return used;
            } catch (ImageException e) {
                throw e;
            } catch (IOException | GeneralSecurityException | RuntimeException e) {
                // Parsers of tar, zstd and JSON see authenticated bytes only, so their complaints mean the same.
                throw new ImageException(WRONG_KEY_OR_TAMPERED, archive, null, e);
            }
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, archive, ImageException.words(e), e);
        }
    }

    private InputStream bodyOf(FileChannel channel, boolean hasTail) throws IOException {
        long fileBytes = channel.size();
        checkHead(channel, fileBytes);
        boolean tail = ArchiveFormat.endsWithTail(channel, fileBytes);
        if (hasTail && !tail) {
            throw new ImageException(TRUNCATED, archive, "it has " + fileBytes + " bytes", null);
        }
        channel.position(ArchiveFormat.HEAD_BYTES);
        return BoundedInputStream.builder()
                .setInputStream(Channels.newInputStream(channel))
                .setMaxCount(fileBytes - ArchiveFormat.HEAD_BYTES - (tail ? ArchiveFormat.TAIL_BYTES : 0))
                .get();
    }

    private InputStream arrivingBodyOf(FileChannel channel) throws IOException {
        arrival.beyond(ArchiveFormat.HEAD_BYTES - 1, channel, cancelled);
        checkHead(channel, channel.size());
        return new ArrivingInput(channel, ArchiveFormat.HEAD_BYTES, arrival, cancelled);
    }

    private void checkHead(FileChannel channel, long fileBytes) throws IOException {
        byte[] head = ArchiveFormat.bytesAt(channel, 0, (int) Math.min(ArchiveFormat.HEAD_BYTES, fileBytes));
        if (!ArchiveFormat.beginsLikeOne(head)) {
            throw new ImageException(NOT_AN_IMAGE, archive, null, null);
        }
        if (head.length < ArchiveFormat.HEAD_BYTES) {
            throw new ImageException(TRUNCATED, archive, "it has " + fileBytes + " bytes", null);
        }
        int version = Short.toUnsignedInt(ByteBuffer.wrap(head).getShort(ArchiveFormat.MAGIC_BYTES));
        if (version != ImageManifest.FORMAT_VERSION) {
            throw new ImageException(
                    OTHER_VERSION, archive, "it has " + version + ", known is " + ImageManifest.FORMAT_VERSION, null);
        }
    }
}
