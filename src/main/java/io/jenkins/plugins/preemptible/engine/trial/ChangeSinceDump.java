package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.FileContent;
import io.jenkins.plugins.preemptible.engine.content.FileKind;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.content.SocketContent;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds changes on the host, since an image was made, with which it cannot be restored any more.
 *
 * <ol>
 *   <li>A file that the stage has open is gone, or has another size: CRIU refuses it then.
 *   <li>A port that the stage has bound and does not listen on yet is listened on by another process, which the kernel
 *       allows where both set SO_REUSEADDR. All other ports the frozen tree itself keeps from others.
 *   <li>A terminal of the stage has been opened by a process outside: its number would stay taken.
 * </ol>
 *
 * Reads only. Of a tree that was killed meanwhile nothing is told: only its image is left.
 */
public final class ChangeSinceDump {

    private static final String LISTENS = "0A";
    /** Files there belong to the kernel. */
    private static final Pattern KERNEL = Pattern.compile("(?!/)|/(proc|sys|dev)/");

    /** Stands for bytes that are no UTF-8. */
    private static final char NO_TEXT = '\ufffd';

    private ChangeSinceDump() {}

    /**
     * The first change that is found, for people, without the final stop.
     *
     * @param images the image
     * @param pids the frozen processes, the init first
     * @param preserved paths whose content is put back before a restore
     */
    public static Optional<String> find(Path images, List<Long> pids, List<Path> preserved) throws IOException {
        // Else every file would look as if it were gone.
        if (!Files.exists(rootOf(pids.get(0)))) {
            return Optional.empty();
        }
        ImageContent content = ContentReader.ofFolderWithoutPages(images);
        Optional<String> file = file(content, roots(pids), preserved);
        if (file.isPresent()) {
            return file;
        }
        Optional<String> port = port(content, pids.get(0));
        return port.isPresent() ? port : terminal(content, pids);
    }

    // As a process sees it; not there once it has ended.
    private static Path rootOf(long pid) {
        return Path.of("/proc/" + pid + "/root");
    }

    /** The root of one process for each of the tree's mount namespaces, that of the init first. */
    private static List<Path> roots(List<Long> pids) {
        Map<String, Path> roots = new LinkedHashMap<>();
        for (long pid : pids) {
            try {
                roots.putIfAbsent(
                        Files.readSymbolicLink(Path.of("/proc/" + pid + "/ns/mnt"))
                                .toString(),
                        rootOf(pid));
            } catch (IOException e) {
                // A zombie has none.
            }
        }
        return List.copyOf(roots.values());
    }

    private static Optional<String> file(ImageContent content, List<Path> roots, List<Path> preserved) {
        Set<Long> deleted = content.deletedFiles().stream()
                .map(ImageContent.DeletedFile::fileId)
                .collect(Collectors.toSet());
        for (FileContent file : content.files()) {
            if (file.kind() != FileKind.FILE
                    || deleted.contains(file.id())
                    || KERNEL.matcher(file.name()).lookingAt()) {
                continue;
            }
            try {
                // What is preserved is put back before a restore.
                if (preserved.stream().anyMatch(Path.of(file.name())::startsWith)) {
                    continue;
                }
                // As the stage sees it: the image does not tell in which of its mount namespaces.
                List<Optional<String>> seen = new ArrayList<>();
                for (Path root : roots) {
                    seen.add(change(file, named(root, file.name())));
                }
                Optional<String> change =
                        seen.isEmpty() || seen.contains(Optional.<String>empty()) ? Optional.empty() : seen.get(0);
                if (change.isPresent() && Files.exists(roots.get(0))) {
                    return change;
                }
            } catch (IOException | InvalidPathException e) {
                // What cannot be checked is left to the restore.
            }
        }
        return Optional.empty();
    }

    private static Optional<String> change(FileContent file, List<Path> named) throws IOException {
        long size = -1;
        for (Path path : named) {
            if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                size = Files.size(path);
                // CRIU tells no size of folders and devices, nor of files that are only appended to.
                if (file.size() == null || size == file.size()) {
                    return Optional.empty();
                }
            }
        }
        return Optional.of(
                size < 0
                        ? file.name() + ", which the stage has open, is gone"
                        : "the size of " + file.name() + ", which the stage has open, has changed from " + file.size()
                                + " to " + size + " bytes");
    }

    /** The paths that a name of the image may be: of bytes that are no UTF-8 it only tells where they are. */
    private static List<Path> named(Path root, String name) throws IOException {
        if (name.indexOf(NO_TEXT) < 0) {
            return List.of(Path.of(root + name));
        }
        List<Path> found = List.of(root);
        for (String part : name.substring(1).split("/")) {
            List<Path> below = new ArrayList<>();
            for (Path folder : found) {
                if (part.indexOf(NO_TEXT) < 0) {
                    below.add(folder.resolve(part));
                } else if (Files.isDirectory(folder)) {
                    try (Stream<Path> entries = Files.list(folder)) {
                        entries.filter(each -> each.getFileName().toString().equals(part))
                                .forEach(below::add);
                    }
                }
            }
            found = below;
        }
        return found;
    }

    private static Optional<String> port(ImageContent content, long init) throws IOException {
        Set<String> bound = content.sockets().stream()
                .filter(s -> s.kind() == FileKind.INET_SOCKET && s.type().equals("stream"))
                .filter(s -> s.state().equals("CLOSED") && s.peer().isEmpty())
                .map(SocketContent::local)
                .map(l -> l.substring(l.lastIndexOf(':') + 1))
                .filter(p -> p.matches("[1-9]\\d*"))
                .collect(Collectors.toSet());
        if (bound.isEmpty()) {
            return Optional.empty();
        }
        for (String table : List.of("tcp", "tcp6")) {
            Path file = Path.of("/proc/" + init + "/net", table);
            for (String line : Files.exists(file) ? Files.readAllLines(file) : List.<String>of()) {
                String[] fields = line.trim().split(" +");
                if (fields.length < 4 || !fields[3].equals(LISTENS)) {
                    continue;
                }
                String port = Integer.toString(Integer.parseInt(fields[1].substring(fields[1].indexOf(':') + 1), 16));
                if (bound.contains(port)) {
                    return Optional.of("another process listens on port " + port);
                }
            }
        }
        return Optional.empty();
    }

    private static Optional<String> terminal(ImageContent content, List<Long> pids) throws IOException {
        if (content.files().stream().noneMatch(f -> f.kind() == FileKind.TERMINAL)) {
            return Optional.empty();
        }
        Set<Object> own = new HashSet<>();
        for (long pid : pids) {
            own.addAll(terminals(pid));
        }
        try (var all = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : all) {
                long pid = Long.parseLong(process.getFileName().toString());
                if (!own.isEmpty()
                        && !pids.contains(pid)
                        && terminals(pid).stream().anyMatch(own::contains)) {
                    String comm = Files.readString(process.resolve("comm"), StandardCharsets.ISO_8859_1)
                            .trim();
                    return Optional.of("the process " + pid + " " + comm + " has opened a terminal of the stage");
                }
            }
        }
        return Optional.empty();
    }

    /** The slaves that a process has open, each by its file system and inode. */
    private static Set<Object> terminals(long pid) {
        Set<Object> found = new HashSet<>();
        try (var open = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
            for (Path each : open) {
                if (Files.readSymbolicLink(each).toString().matches("/dev/pts/\\d+")) {
                    found.add(Files.readAttributes(each, "unix:dev,ino"));
                }
            }
        } catch (IOException | java.nio.file.DirectoryIteratorException e) {
            // It has ended, or closed it meanwhile.
        }
        return found;
    }
}
