package io.jenkins.plugins.preemptible.engine.trial;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Ghost;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pagemap;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.PagemapHead;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.TcpStream;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The files of an image that differ in a trial: without memory, it is restored in constant time.
 *
 * <ol>
 *   <li>Of the pages only those of the vDSO are left: CRIU reads its symbols. All other memory is mapped and stays
 *       empty.
 *   <li>Files that travel in the image, deleted ones and those of a tmpfs, keep size and mode and lose their content
 *       ({@link HollowTar}).
 *   <li>TCP connections have empty queues: packets of the trial would reach an end that does not exist yet, since the
 *       scratch network is not silenced.
 *   <li>It has nothing else: a trial lays it over the image itself.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/pagemap.c}, {@code criu/files-reg.c}.
 */
final class StrippedImage {

    private static final long PAGE = 4096;
    /** Smaller files are not worth a change. */
    static final long SMALL = 64 * 1024;

    private final Path images;
    private final Path target;
    private final Set<Long> sharedFiles = new HashSet<>();

    private record Range(long start, long end) {}

    private StrippedImage(Path images, Path target) {
        this.images = images;
        this.target = target;
    }

    /**
     * Makes it.
     *
     * @param images a dumped image, which is only read
     * @param target an empty folder
     * @return the ids of the files that are mapped as shared memory, which CRIU opens for writing
     */
    static Set<Long> make(Path images, Path target) throws IOException {
        StrippedImage stripped = new StrippedImage(images, target);
        List<Path> files;
        try (var all = Files.list(images)) {
            files = all.filter(Files::isRegularFile).toList();
        }
        for (Path file : files) {
            stripped.strip(file.getFileName().toString());
        }
        return Set.copyOf(stripped.sharedFiles);
    }

    /** What {@link #make} answers, of an image that may be stripped already. */
    static Set<Long> sharedFiles(Path images) throws IOException {
        StrippedImage read = new StrippedImage(images, images);
        try (var all = Files.newDirectoryStream(images, "mm-*")) {
            for (Path mm : all) {
                read.vdso(mm);
            }
        }
        return Set.copyOf(read.sharedFiles);
    }

    // The pages are made with their pagemap.
    private void strip(String name) throws IOException {
        if (name.startsWith("pagemap-")) {
            Path mm = images.resolve(name.replaceFirst("^pagemap-", "mm-"));
            stripPages(name, Files.exists(mm) ? vdso(mm) : List.of());
        } else if (name.startsWith("tcp-stream-")) {
            stripQueues(name);
        } else if (name.startsWith("ghost-file-") && isLarge(name)) {
            stripGhost(name);
        } else if (name.matches("tmpfs-.*\\.tar\\.gz\\.img") && isLarge(name)) {
            HollowTar.make(images.resolve(name), target.resolve(name));
        }
    }

    private boolean isLarge(String name) throws IOException {
        return Files.size(images.resolve(name)) > SMALL;
    }

    private List<Range> vdso(Path mm) throws IOException {
        List<Range> vdso = new ArrayList<>();
        for (UnknownFieldSet entry : ImageFile.parse(mm.getFileName().toString(), Files.readAllBytes(mm))
                .entries()) {
            for (ByteString each : entry.getField(Mm.VMAS).getLengthDelimitedList()) {
                UnknownFieldSet vma = UnknownFieldSet.parseFrom(each);
                long status = ImageFile.number(vma, Vma.STATUS);
                if ((status & VmaStatus.VDSO) != 0) {
                    vdso.add(new Range(ImageFile.number(vma, Vma.START), ImageFile.number(vma, Vma.END)));
                }
                if ((status & VmaStatus.FILE_SHARED) != 0) {
                    sharedFiles.add(ImageFile.number(vma, Vma.SHARED_ID));
                }
            }
        }
        return vdso;
    }

    private void stripPages(String name, List<Range> kept) throws IOException {
        ImageFile pagemap = ImageFile.parse(name, Files.readAllBytes(images.resolve(name)));
        if (pagemap.entries().isEmpty()) {
            throw new IOException(name + " has no head");
        }
        UnknownFieldSet head = pagemap.entries().get(0);
        String pages = "pages-" + ImageFile.number(head, PagemapHead.PAGES_ID) + ".img";
        List<UnknownFieldSet> entries = new ArrayList<>(List.of(head));
        long offset = 0;
        try (FileChannel from = FileChannel.open(images.resolve(pages));
                FileChannel to = FileChannel.open(
                        target.resolve(pages), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            for (UnknownFieldSet entry :
                    pagemap.entries().subList(1, pagemap.entries().size())) {
                int count = entry.hasField(Pagemap.PAGES) ? Pagemap.PAGES : Pagemap.PAGES_32;
                long start = ImageFile.number(entry, Pagemap.ADDRESS);
                long end = start + ImageFile.number(entry, count) * PAGE;
                if (!present(entry)) {
                    continue;
                }
                for (Range range : kept) {
                    long first = Math.max(start, range.start());
                    long last = Math.min(end, range.end());
                    if (first < last) {
                        from.transferTo(offset + first - start, last - first, to);
                        entries.add(entry.toBuilder()
                                .addField(Pagemap.ADDRESS, ImageFile.field(first))
                                .addField(count, ImageFile.field((last - first) / PAGE))
                                .build());
                    }
                }
                offset += end - start;
            }
        }
        Files.write(target.resolve(name), pagemap.withEntries(entries).bytes());
    }

    private static boolean present(UnknownFieldSet entry) {
        return entry.hasField(Pagemap.FLAGS)
                ? (ImageFile.number(entry, Pagemap.FLAGS) & Pagemap.PRESENT) != 0
                : ImageFile.number(entry, Pagemap.IN_PARENT) == 0;
    }

    // In chunks, of which there is none: CRIU makes a file of that size without content.
    private void stripGhost(String name) throws IOException {
        byte[] start;
        try (InputStream in = Files.newInputStream(images.resolve(name))) {
            start = in.readNBytes((int) SMALL);
        }
        ByteBuffer buffer = ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN);
        int entryEnd = 3 * Integer.BYTES + buffer.getInt(2 * Integer.BYTES);
        if (entryEnd < 0 || entryEnd > start.length) {
            return;
        }
        ImageFile ghost = ImageFile.parse(name, java.util.Arrays.copyOf(start, entryEnd));
        UnknownFieldSet entry = ghost.entries().get(0);
        if (!entry.hasField(Ghost.SIZE)) {
            return;
        }
        UnknownFieldSet hollow =
                entry.toBuilder().addField(Ghost.CHUNKS, ImageFile.field(1)).build();
        Files.write(target.resolve(name), ghost.withEntries(List.of(hollow)).bytes());
    }

    // The last value of a field counts, and what follows the entry is the queues' content.
    private void stripQueues(String name) throws IOException {
        ImageFile stream = ImageFile.first(name, Files.readAllBytes(images.resolve(name)));
        UnknownFieldSet.Builder empty = stream.entries().get(0).toBuilder();
        for (int queue : new int[] {TcpStream.UNREAD, TcpStream.UNACKNOWLEDGED, TcpStream.UNSENT}) {
            empty.addField(queue, ImageFile.field(0));
        }
        Files.write(
                target.resolve(name), stream.withEntries(List.of(empty.build())).bytes());
    }
}
