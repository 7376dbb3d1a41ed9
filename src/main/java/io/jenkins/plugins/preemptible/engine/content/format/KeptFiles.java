package io.jenkins.plugins.preemptible.engine.content.format;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What was kept of an image while it was read: small files, the sizes of all, and a few ranges of the pages.
 *
 * <ol>
 *   <li>{@code ContentReader} fills it, in the order in which the files come.
 *   <li>A file that CRIU did not write is the same as one without entries.
 *   <li>Ranges of pages are found by the number of their file and their offset.
 * </ol>
 */
public final class KeptFiles {

    private final Map<String, byte[]> contents = new TreeMap<>();
    private final Map<String, Long> sizes = new LinkedHashMap<>();
    private final Map<PageRange, byte[]> ranges = new LinkedHashMap<>();

    /** Where bytes lie among the pages of an image. */
    public record PageRange(long pagesId, long offset, long bytes) {}

    public void saw(String name, long bytes) {
        sizes.put(name, bytes);
    }

    public void keep(String name, byte[] content) {
        contents.put(name, content);
    }

    public void keep(PageRange range, byte[] content) {
        ranges.put(range, content);
    }

    public Map<String, Long> sizes() {
        return sizes;
    }

    /** The names of kept files that begin so, in order. */
    public List<String> names(String prefix) {
        return contents.keySet().stream().filter(n -> n.startsWith(prefix)).toList();
    }

    public byte[] content(String name) {
        return contents.get(name);
    }

    public Optional<byte[]> range(PageRange range) {
        return Optional.ofNullable(ranges.get(range));
    }

    public Optional<ImageFile> file(String name, ImageKind kind) throws ContentException {
        byte[] content = contents.get(name);
        if (content == null) {
            return Optional.empty();
        }
        ImageFile file = ImageFile.parse(name, content);
        if (!file.is(kind)) {
            throw new ContentException(name, "it has the magic of another kind", null);
        }
        return Optional.of(file);
    }

    public List<Message> messages(String name, ImageKind kind) throws ContentException {
        return file(name, kind).map(ImageFile::messages).orElse(List.of());
    }

    public Optional<Message> message(String name, ImageKind kind) throws ContentException {
        return messages(name, kind).stream().findFirst();
    }
}
