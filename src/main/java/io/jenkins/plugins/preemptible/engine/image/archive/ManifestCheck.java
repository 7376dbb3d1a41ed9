package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Kind;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.preserved.PreservedFiles;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Whether a manifest says only what a writer would have said.
 *
 * <ol>
 *   <li>Names are those of image files, or numbers of preserved files; each comes once and in its order.
 *   <li>Sizes add up, and references are there only where there is a parent.
 *   <li>Preserved paths are absolute and plain, and each file lies in a folder that comes before it.
 * </ol>
 *
 * Pure. An archive is authentic before it comes here; this keeps a writer's mistake, or a key in wrong hands, from
 * becoming a write to somewhere else.
 */
final class ManifestCheck {

    private final ImageManifest manifest;
    private final Map<Integer, Map<String, Kind>> kinds = new HashMap<>();

    private ManifestCheck(ImageManifest manifest) {
        this.manifest = manifest;
    }

    /** What is wrong with it, for people; empty when nothing is. */
    static Optional<String> objection(ImageManifest manifest) {
        try {
            ManifestCheck check = new ManifestCheck(manifest);
            check.identity();
            check.roots();
            check.preserved();
            check.entries();
            return Optional.empty();
        } catch (Bad e) {
            return Optional.of(e.getMessage());
        } catch (InvalidPathException e) {
            return Optional.of("its paths cannot be said in this Java's character set; start it with LC_ALL=C.UTF-8");
        }
    }

    private static final class Bad extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Bad(String what) {
            super(what, null, false, false);
        }
    }

    private static void need(boolean condition, String what) {
        if (!condition) {
            throw new Bad("its manifest has " + what);
        }
    }

    private static boolean isHex(String text, int bytes) {
        return text != null
                && text.length() == 2 * bytes
                && text.chars().allMatch(c -> c >= '0' && c <= '9' || c >= 'a' && c <= 'f');
    }

    private void identity() {
        need(isHex(manifest.imageId(), ArchiveFormat.ID_BYTES), "no image id");
        if (manifest.parent() != null) {
            need(isHex(manifest.parent().imageId(), ArchiveFormat.ID_BYTES), "a parent without an id");
            need(!manifest.parent().imageId().equals(manifest.imageId()), "itself for a parent");
            need(isPlain(manifest.parent().file()), "an unsafe name for its parent");
        }
    }

    // The name of one file or folder, which cannot lead anywhere else.
    private static boolean isPlain(String name) {
        return name != null
                && !name.isEmpty()
                && !name.equals(".")
                && !name.equals("..")
                && name.indexOf('/') < 0
                && name.indexOf('\0') < 0;
    }

    private void roots() {
        for (String root : manifest.preservedRoots()) {
            need(root != null && root.startsWith("/") && root.indexOf('\0') < 0 && root.length() > 1, "an unsafe root");
            need(List.of(root.substring(1).split("/", -1)).stream().allMatch(ManifestCheck::isPlain), "an unsafe root");
        }
        for (String root : manifest.preservedRoots()) {
            long same = manifest.preservedRoots().stream()
                    .filter(other -> Path.of(other).startsWith(Path.of(root)))
                    .count();
            need(same == 1, "one preserved path within another");
        }
    }

    private void preserved() {
        need(manifest.preserved().size() <= ArchiveFormat.MOST_PRESERVED, "too many preserved files");
        for (int number = 0; number < manifest.preserved().size(); number++) {
            PreservedFile file = manifest.preserved().get(number);
            need(file != null && file.kind() != null && file.path() != null, "a preserved file without a name");
            need(file.root() >= 0 && file.root() < manifest.preservedRoots().size(), "a file of no preserved path");
            Map<String, Kind> known = kinds.computeIfAbsent(file.root(), r -> new HashMap<>());
            need(known.putIfAbsent(file.path(), file.kind()) == null, "a preserved file twice");
            if (!file.path().isEmpty()) {
                List<String> names = List.of(file.path().split("/", -1));
                need(names.stream().allMatch(ManifestCheck::isPlain), "an unsafe path of a preserved file");
                String parent = String.join("/", names.subList(0, names.size() - 1));
                need(known.get(parent) == Kind.FOLDER, "a preserved file outside of its folders");
            }
            need(file.mode() >= 0 && file.mode() <= 07777, "a mode out of range");
            need(file.uid() >= -1 && file.gid() >= -1, "an owner out of range");
            need(file.nanos() >= 0 && file.nanos() < 1_000_000_000, "a time out of range");
            need(PreservedFiles.hasSoundAttributes(file), "an attribute that is none");
            link(file, number);
        }
    }

    private void link(PreservedFile file, int number) {
        switch (file.kind()) {
            case SYMLINK ->
                need(
                        file.link() != null
                                && !file.link().isEmpty()
                                && file.link().indexOf('\0') < 0,
                        "a bad link");
            case HARDLINK -> {
                need(file.link() != null && file.link().matches("[0-9]{1,9}"), "a bad hard link");
                int first = Integer.parseInt(file.link());
                need(first < number && manifest.preserved().get(first).kind() == Kind.FILE, "a hard link to nothing");
            }
            default -> need(file.link() == null, "a link that is none");
        }
    }

    private void entries() {
        List<EntryInfo> entries = manifest.entries();
        need(!entries.isEmpty(), "no entries");
        need(entries.size() <= ArchiveFormat.MOST_ENTRIES + ArchiveFormat.MOST_PRESERVED, "too many entries");
        Set<String> names = new HashSet<>();
        long imageBytes = 0;
        long all = 0;
        int next = nextFile(0);
        for (EntryInfo entry : entries) {
            need(entry != null && entry.name() != null && names.add(entry.name()), "an entry twice or without a name");
            sizes(entry);
            need(entry.bytes() <= Long.MAX_VALUE - all, "sizes beyond all disks");
            all += entry.bytes();
            if (next < manifest.preserved().size() && entry.name().equals(ArchiveFormat.preservedName(next))) {
                next = nextFile(next + 1);
            } else {
                need(ArchiveFormat.isSafeName(entry.name()), "an unsafe name of an entry");
                need(next == nextFile(0), "an entry out of its order");
                imageBytes += entry.bytes();
            }
        }
        need(next == manifest.preserved().size(), "a preserved file without content");
        need(imageBytes == manifest.imageBytes(), "sizes that do not add up");
    }

    private int nextFile(int from) {
        int number = from;
        while (number < manifest.preserved().size()
                && manifest.preserved().get(number).kind() != Kind.FILE) {
            number++;
        }
        return number;
    }

    private void sizes(EntryInfo entry) {
        need(isHex(entry.sha256(), BlockHash.DIGEST), "an entry without a digest");
        need(entry.bytes() >= 0 && entry.runs() >= 0 && entry.stored() >= 0, "a size below zero");
        if (entry.runs() == 0) {
            need(entry.stored() == entry.bytes(), "an entry that is not whole");
        } else {
            need(Objects.nonNull(manifest.parent()), "references, but no parent");
            need(entry.stored() < entry.bytes() && entry.runs() <= BlockHash.blocks(entry.bytes()), "bad references");
        }
    }
}
