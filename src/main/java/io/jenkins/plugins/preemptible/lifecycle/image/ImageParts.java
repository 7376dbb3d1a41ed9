package io.jenkins.plugins.preemptible.lifecycle.image;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The parts in which a large file of a stage lies among the artifacts of an object store.
 *
 * <ol>
 *   <li>S3 takes at most 5 GiB in one request, and its artifact manager sends each artifact in one, which it gives up and tries again
 *       after 15 minutes.
 *   <li>A file of at most {@link #mostBytes} is one part and has its own name. The names of several say how many there are: an
 *       earlier image of the same stage, which a store may keep, has others or is overwritten.
 * </ol>
 */
final class ImageParts {

    private static final Pattern NUMBER = Pattern.compile("\\.\\d+-of-(\\d{1,6})");

    private ImageParts() {}

    /** Must not change while a stage is suspended: the names go by it. */
    static long mostBytes() {
        return Long.getLong(StageImages.class.getName() + ".partBytes", 1L << 30);
    }

    /**
     * @param file its name among the stage's artifacts
     * @param offset of its first byte in the whole
     */
    record Part(String file, long offset, long bytes) {}

    /**
     * In their order.
     *
     * @param bytes of the whole
     * @param mostBytes of a part, more than 0
     */
    static List<Part> of(String file, long bytes, long mostBytes) {
        if (bytes <= mostBytes) {
            return List.of(new Part(file, 0, bytes));
        }
        long count = (bytes + mostBytes - 1) / mostBytes;
        List<Part> parts = new ArrayList<>();
        for (long offset = 0; offset < bytes; offset += mostBytes) {
            String name = file + "." + (parts.size() + 1) + "-of-" + count;
            parts.add(new Part(name, offset, Math.min(mostBytes, bytes - offset)));
        }
        return parts;
    }

    /**
     * The names of its parts, in their order, where its size is not known.
     *
     * @param artifacts names of all that lies beside it
     * @return its own name when there are no parts
     */
    static List<String> named(String file, Collection<String> artifacts) {
        for (String artifact : artifacts) {
            Matcher number = NUMBER.matcher(artifact.startsWith(file) ? artifact.substring(file.length()) : "");
            if (number.matches()) {
                int count = Integer.parseInt(number.group(1));
                return IntStream.rangeClosed(1, count)
                        .mapToObj(part -> file + "." + part + "-of-" + count)
                        .toList();
            }
        }
        return List.of(file);
    }

    /** Whether an artifact is that file, or a part of it. */
    static boolean isOf(String file, String artifact) {
        return artifact.startsWith(file)
                && (artifact.length() == file.length()
                        || NUMBER.matcher(artifact.substring(file.length())).matches());
    }
}
