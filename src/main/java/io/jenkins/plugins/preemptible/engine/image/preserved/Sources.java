package io.jenkins.plugins.preemptible.engine.image.preserved;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.CHANGED_MEANWHILE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Kind;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The files whose contents go into an archive: those of CRIU's image, then those of the preserved paths.
 *
 * <ol>
 *   <li>The image folder is checked first: what may not be in an image stops it before a byte is written.
 *   <li>Preserved files are opened from open folders, never by a path that another process could redirect meanwhile.
 *   <li>A preserved file that is not what it was when it was listed stops the packing.
 * </ol>
 *
 * For one thread; a channel that it opened may be read by several.
 */
public final class Sources implements Closeable {

    /** By name, but for what has the content of memory and files: a beginning of the archive can then be tried elsewhere. */
    private static final Comparator<Path> SMALL_FIRST = Comparator.comparing(
                    (Path path) -> ArchiveFormat.isContent(path.getFileName().toString()))
            .thenComparing(path -> path.getFileName().toString());

    private final Path imageDir;
    private final PreservedScan scan;
    private final List<Source> all = new ArrayList<>();
    private FolderStack stack;
    private int stackRoot = -1;

    /**
     * One file.
     *
     * @param name of its entry
     * @param preserved its number among the preserved files, -1 for a file of the image
     */
    public record Source(String name, long bytes, int preserved) {}

    public Sources(Path imageDir, PreservedScan scan) throws ImageException {
        this.imageDir = imageDir;
        this.scan = scan;
        listImage();
        List<PreservedFile> files = scan.files();
        for (int number = 0; number < files.size(); number++) {
            if (files.get(number).kind() == Kind.FILE) {
                all.add(new Source(
                        ArchiveFormat.preservedName(number), scan.state(number).size(), number));
            }
        }
    }

    private void listImage() throws ImageException {
        try (Stream<Path> paths = Files.list(imageDir)) {
            for (Path path : (Iterable<Path>) paths.sorted(SMALL_FIRST)::iterator) {
                String name = path.getFileName().toString();
                if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
                    throw new ImageException(UNSAFE_ENTRY, path, "it is no plain file", null);
                }
                if (!ArchiveFormat.isSafeName(name)) {
                    throw new ImageException(UNSAFE_ENTRY, path, "its name is not one of an image file", null);
                }
                all.add(new Source(name, Files.size(path), -1));
            }
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, imageDir, ImageException.words(e), e);
        }
        if (all.isEmpty()) {
            throw new ImageException(UNSAFE_ENTRY, imageDir, "it has no files, so there is nothing to seal", null);
        }
        if (all.size() > ArchiveFormat.MOST_ENTRIES) {
            throw new ImageException(UNSAFE_ENTRY, imageDir, all.size() + " files", null);
        }
    }

    public List<Source> all() {
        return all;
    }

    public long bytes() {
        return all.stream().mapToLong(Source::bytes).sum();
    }

    /** Opens one for reading. */
    public FileChannel open(Source source) throws ImageException {
        try {
            Path path = path(source);
            check(source, path);
            return FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, shown(source), ImageException.words(e), e);
        }
    }

    /** Throws unless a preserved file still is what it was when it was listed. */
    public void check(Source source) throws ImageException {
        try {
            check(source, path(source));
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, shown(source), ImageException.words(e), e);
        }
    }

    private void check(Source source, Path path) throws IOException {
        if (source.preserved >= 0 && !PreservedScan.stateOf(path).equals(scan.state(source.preserved))) {
            throw new ImageException(CHANGED_MEANWHILE, shown(source), null, null);
        }
    }

    private Path path(Source source) throws IOException {
        if (source.preserved < 0) {
            return imageDir.resolve(source.name);
        }
        PreservedFile file = scan.files().get(source.preserved);
        if (stackRoot != file.root()) {
            close();
            stack = new FolderStack(scan.place(file.root()), false);
            stackRoot = file.root();
        }
        return stack.parentOf(file.path()).at(stack.nameOf(file.path()));
    }

    /** Its path as people know it. */
    public Path shown(Source source) {
        if (source.preserved < 0) {
            return imageDir.resolve(source.name);
        }
        PreservedFile file = scan.files().get(source.preserved);
        return Path.of(scan.roots().get(file.root())).resolve(file.path());
    }

    /**
     * Reads a piece of a file, all of it.
     *
     * @param shown for the message
     */
    public static void read(FileChannel channel, byte[] into, int length, long position, Path shown)
            throws ImageException {
        ByteBuffer buffer = ByteBuffer.wrap(into, 0, length);
        try {
            while (buffer.hasRemaining()) {
                if (channel.read(buffer, position + buffer.position()) < 0) {
                    throw new ImageException(CHANGED_MEANWHILE, shown, "it became shorter", null);
                }
            }
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, shown, ImageException.words(e), e);
        }
    }

    @Override
    public void close() {
        if (stack != null) {
            stack.close();
            stack = null;
            stackRoot = -1;
        }
    }
}
