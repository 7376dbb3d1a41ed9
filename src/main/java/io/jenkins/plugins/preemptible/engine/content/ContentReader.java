package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Memfd;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageKind;
import io.jenkins.plugins.preemptible.engine.content.format.KeptFiles;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import io.jenkins.plugins.preemptible.engine.image.EntrySink;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what is in an image while its files stream by, without unpacking them to a disk.
 *
 * <ol>
 *   <li>Small files are kept as they come; of deleted files in the image only the first bytes are kept.
 *   <li>CRIU's names put mappings and page maps before the pages, so that of those only the ranges with command lines
 *       (and environments, when asked for) are kept, or a digest of each page.
 *   <li>{@link #content} puts the picture together; it is worth something only when the whole image was authenticated.
 * </ol>
 *
 * One reader reads one image, on one thread. It keeps up to 256 MB, and 16 bytes per page where digests are asked for.
 */
public final class ContentReader implements EntrySink {

    private static final long MOST_KEPT = 256L << 20;
    private static final int GHOST_HEAD = 16 * 1024;
    private static final int CHUNK = 256 * AddressSpace.PAGE;

    private static final Pattern KEPT = Pattern.compile("(inventory|pstree|files|memfd|remap-fpath|stats-dump"
            + "|(core|ids|mm|pagemap|pagemap-shmem|fdinfo|fs|mountpoints)-\\d{1,18})\\.img");
    private static final Pattern PAGES = Pattern.compile("pages-(\\d{1,18})\\.img");

    private final Set<Detail> details;
    private final KeptFiles kept = new KeptFiles();
    private final Map<Long, PageDigests> digests = new HashMap<>();
    private final Set<String> inParent = new TreeSet<>();
    private long keptBytes;
    private ContentException failure;

    /** What is read only when asked for. */
    public enum Detail {
        /** The environments of processes, which like to hold secrets. */
        ENVIRONMENT,
        /** A digest of every page, to compare two images. */
        PAGE_DIGESTS
    }

    public ContentReader(Set<Detail> details) {
        this.details = Set.copyOf(details);
    }

    /**
     * Reads an image that lies unpacked in a folder, but no pages: the picture has no command lines, and reading it
     * takes no longer with more memory.
     *
     * @throws ContentException when a file is not as CRIU writes it
     * @throws IOException when a file cannot be read
     */
    public static ImageContent ofFolderWithoutPages(Path folder) throws IOException {
        ContentReader reader = new ContentReader(Set.of());
        List<Path> files;
        try (var all = Files.list(folder)) {
            files = all.filter(Files::isRegularFile)
                    .filter(file ->
                            !PAGES.matcher(file.getFileName().toString()).matches())
                    .sorted()
                    .toList();
        }
        for (Path file : files) {
            try (InputStream content = Files.newInputStream(file)) {
                reader.entry(file.getFileName().toString(), Files.size(file), content);
            }
        }
        return reader.content();
    }

    @Override
    public void entry(String name, long bytes, InputStream content) throws IOException {
        kept.saw(name, bytes);
        try {
            read(name, bytes, content);
        } catch (ContentException e) {
            // The rest of the image has to be authenticated all the same; content() tells.
            failure = failure == null ? e : failure;
        }
    }

    private void read(String name, long bytes, InputStream content) throws IOException {
        Matcher pages = PAGES.matcher(name);
        if (pages.matches()) {
            readPages(Long.parseLong(pages.group(1)), bytes, content);
        } else if (KEPT.matcher(name).matches()) {
            keep(name, bytes, content);
        } else if (name.startsWith("ghost-file-")) {
            keep(name, Math.min(bytes, GHOST_HEAD), content);
        }
    }

    /**
     * A file of a difference that is partly in its parent. Without pages the rest can be shown, without command lines;
     * without one of the small files it cannot.
     */
    @Override
    public void reference(String name, long bytes, long stored) {
        kept.saw(name, bytes);
        if (PAGES.matcher(name).matches()) {
            if (details.contains(Detail.PAGE_DIGESTS)) {
                inParent.add(name);
            }
        } else if (KEPT.matcher(name).matches() && failure == null) {
            failure = ContentException.inParent(name);
        }
    }

    /**
     * The files of pages whose digests are missing since the image is a difference: {@link #blocks} is to bring them.
     *
     * @return in order; empty unless digests were asked for
     */
    public Set<String> inParent() {
        return Collections.unmodifiableSet(inParent);
    }

    /**
     * Takes the digests of such a file, as {@code ImageArchive.blockDigests} found them.
     *
     * @param digests two longs for each page
     */
    public void blocks(String name, long[] digests) {
        Matcher pages = PAGES.matcher(name);
        if (pages.matches() && inParent.remove(name)) {
            this.digests.put(Long.parseLong(pages.group(1)), PageDigests.of(digests));
        }
    }

    private void keep(String name, long bytes, InputStream content) throws IOException {
        keptBytes += bytes;
        if (keptBytes > MOST_KEPT) {
            throw new ContentException(name, "with it the lists in the image have more than 256 MB", null);
        }
        kept.keep(name, content.readNBytes((int) bytes));
    }

    /**
     * What was read so far; call it after the last file.
     *
     * @throws ContentException when a file was not as CRIU writes it
     */
    public ImageContent content() throws ContentException {
        if (failure != null) {
            throw failure;
        }
        return ContentAssembly.of(kept, details.contains(Detail.ENVIRONMENT));
    }

    /**
     * The pages of each process and each shared memory, for two images to be compared; empty unless asked for.
     *
     * @return by process id, or what shared memory can be known by in another image of the stage
     * @throws ContentException when pages lie in a parent and {@link #blocks} did not bring them
     */
    public Map<String, PageDigests> pageDigests() throws ContentException {
        if (!inParent.isEmpty()) {
            throw ContentException.inParent(inParent.iterator().next());
        }
        Map<Long, String> shared = sharedMemory();
        Map<String, PageDigests> byOwner = new TreeMap<>();
        for (String name : kept.names("pagemap-")) {
            AddressSpace space = PageText.space(kept, name);
            PageDigests pages = digests.get(space.pagesId());
            if (pages != null) {
                long id = PageText.number(name);
                boolean ofProcess = !name.startsWith("pagemap-shmem-");
                String owner = ofProcess ? Long.toString(id) : shared.getOrDefault(id, "shared memory " + id);
                byOwner.put(owner, pages.at(space.runs()));
            }
        }
        return byOwner;
    }

    // The ids of shared memory are new after every restore, but its place in the first process that maps it is not.
    private Map<Long, String> sharedMemory() throws ContentException {
        Map<Long, String> shared = new HashMap<>();
        for (String name : kept.names("mm-")) {
            for (Message mm : kept.messages(name, ImageKind.MM)) {
                for (Message vma : mm.messages(Mm.VMAS)) {
                    if (MemoryKind.of(vma.number(Vma.STATUS)) == MemoryKind.SHARED) {
                        String place = "shared memory of " + PageText.number(name) + " at 0x"
                                + Long.toHexString(vma.number(Vma.START));
                        shared.putIfAbsent(vma.number(Vma.SHARED_ID), place);
                    }
                }
            }
        }
        for (Message memfd : kept.messages("memfd.img", ImageKind.MEMFD)) {
            shared.putIfAbsent(memfd.number(Memfd.SHARED_ID), "memfd:" + memfd.text(Memfd.INODE_NAME));
        }
        return shared;
    }

    private void readPages(long pagesId, long bytes, InputStream content) throws IOException {
        List<PageText> wanted = PageText.of(kept, pagesId, details.contains(Detail.ENVIRONMENT));
        PageDigests all = details.contains(Detail.PAGE_DIGESTS) ? new PageDigests(bytes / AddressSpace.PAGE) : null;
        long last = wanted.stream().mapToLong(PageText::end).max().orElse(0);
        byte[] chunk = new byte[CHUNK];
        long offset = 0;
        while (offset < (all == null ? last : bytes)) {
            int read = content.readNBytes(chunk, 0, CHUNK);
            if (read == 0) {
                break;
            }
            for (PageText each : wanted) {
                each.take(chunk, read, offset);
            }
            if (all != null) {
                all.add(chunk, read);
            }
            offset += read;
        }
        for (PageText each : wanted) {
            each.keepIn(kept);
        }
        if (all != null) {
            digests.put(pagesId, all);
        }
    }
}
