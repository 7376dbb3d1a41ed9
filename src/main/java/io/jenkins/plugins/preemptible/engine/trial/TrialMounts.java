package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.content.FileContent;
import io.jenkins.plugins.preemptible.engine.content.FileKind;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.content.ImageContent.MountContent;
import io.jenkins.plugins.preemptible.engine.content.SocketContent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * What a trial mounts in place of the host's file systems.
 *
 * <ol>
 *   <li>The root, and each mount of the host on which the stage has a file, is an overlay: what CRIU writes there goes
 *       into memory that vanishes with the trial. The others CRIU binds as they are; it writes nothing there.
 *   <li>Terminals come from a devpts of the trial's own, since the frozen tree holds theirs.
 *   <li>A mount of the host that is gone by now is an empty folder, as at a real restore; its mount point is made in
 *       the overlay that it lies in.
 *   <li>A large file that CRIU opens for writing would be copied into the overlay: it gets a stand-in, of the same
 *       size, owner and mode and without content.
 * </ol>
 *
 * Paths in values and stand-ins are as the trial sees them, see {@code trial.sh}.
 *
 * @param overlays mount points of the host, each once, the root not among them
 * @param bound mount points of the host below /tmp, which the trial covers
 * @param values what stands in for each mount point of the host
 * @param mountPoints folders to make
 * @param terminals whether a devpts is needed
 */
record TrialMounts(
        List<String> overlays,
        List<String> bound,
        Map<String, String> values,
        List<String> mountPoints,
        List<StandIn> standIns,
        boolean terminals) {

    /** Kernel interfaces: the stage's files there belong to the kernel, and an overlay would not work. */
    private static final Set<String> KERNEL = Set.of(
            "proc",
            "sysfs",
            "devtmpfs",
            "devpts",
            "cgroup",
            "cgroup2",
            "mqueue",
            "debugfs",
            "tracefs",
            "securityfs",
            "pstore",
            "bpf",
            "configfs",
            "hugetlbfs",
            "binfmt_misc",
            "nsfs",
            "fusectl",
            "rpc_pipefs",
            "efivarfs",
            "selinuxfs");
    /** The overlay of the root, as the trial sees it. */
    static final String ROOT = "/tmp/overlay/root/root";
    /** Characters that an option of an overlay cannot have. */
    private static final String UNSAYABLE = ".*[,:\\\\\\n].*";

    /** @param path of the file; {@code bytes} is its size */
    record StandIn(String path, long bytes) {}

    /**
     * @param hostMounts what the image refers to as external
     * @param sharedFiles ids of files that are mapped as shared memory
     * @param workspace whose files get no other stand-ins
     * @throws UntriableException when an overlay cannot be had
     */
    static TrialMounts of(
            ImageContent content, List<String> hostMounts, Set<Long> sharedFiles, WorkspaceStandIns workspace)
            throws UntriableException {
        Set<String> used = new TreeSet<>();
        for (String path : paths(content)) {
            used.add(mountOf(path, content, hostMounts));
        }
        List<String> gone =
                hostMounts.stream().filter(m -> !Files.exists(Path.of(m))).toList();
        for (String mount : gone) {
            used.add(mountOf(parent(mount), content, hostMounts));
        }
        boolean terminals = content.files().stream().anyMatch(f -> f.kind() == FileKind.TERMINAL);
        List<String> overlays = new ArrayList<>();
        List<String> bound = new ArrayList<>();
        Map<String, String> values = new LinkedHashMap<>();
        for (String mount : hostMounts) {
            if (gone.contains(mount)) {
                values.put(mount, "/tmp/empty");
            } else if (terminals && mount.equals("/dev/pts")) {
                values.put(mount, "/tmp/pts");
            } else if (used.contains(mount) && needsOverlay(mount)) {
                values.put(mount, "/tmp/overlay/" + overlays.size() + "/root");
                overlays.add(mount);
            } else if (mount.equals("/tmp") || mount.startsWith("/tmp/")) {
                values.put(mount, "/tmp/bound/" + bound.size());
                bound.add(mount);
            } else {
                values.put(mount, mount);
            }
        }
        List<String> mountPoints = new ArrayList<>();
        for (String mount : gone) {
            inOverlay(mount, mountOf(parent(mount), content, hostMounts), overlays, values)
                    .ifPresent(mountPoints::add);
        }
        return new TrialMounts(
                overlays,
                bound,
                values,
                mountPoints,
                standIns(content, hostMounts, sharedFiles, workspace, overlays, values),
                terminals);
    }

    private static String parent(String mount) {
        return mount.substring(0, Math.max(1, mount.lastIndexOf('/')));
    }

    /** Where a path of a mount lies in the mount's overlay; empty when it has none. */
    private static Optional<String> inOverlay(
            String path, String mount, List<String> overlays, Map<String, String> values) {
        if (mount.equals("/")) {
            return Optional.of(ROOT + path);
        }
        return overlays.contains(mount)
                ? Optional.of(values.get(mount) + path.substring(mount.length()))
                : Optional.empty();
    }

    /** Where a path of the host lies in the trial, if what is written there vanishes; else empty. */
    Optional<String> inOverlay(String path) {
        String longest = "/";
        for (String mount : values.keySet()) {
            if ((path.equals(mount) || path.startsWith(mount + "/")) && mount.length() > longest.length()) {
                longest = mount;
            }
        }
        return inOverlay(path, longest, overlays, values);
    }

    private static List<String> paths(ImageContent content) {
        List<String> paths = new ArrayList<>();
        content.files().stream()
                .map(FileContent::name)
                .filter(n -> n.startsWith("/"))
                .forEach(paths::add);
        content.sockets().stream()
                .filter(s -> s.kind() == FileKind.UNIX_SOCKET)
                .map(SocketContent::local)
                .filter(n -> n.startsWith("/"))
                .forEach(paths::add);
        return paths;
    }

    /** The mount point of the stage's that a path is on: of the host's, or its own. */
    static String mountOf(String path, ImageContent content, List<String> hostMounts) {
        List<String> all = new ArrayList<>(hostMounts);
        content.mounts().stream().map(MountContent::mountPoint).forEach(all::add);
        String longest = "/";
        for (String mount : all) {
            if ((path.equals(mount) || path.startsWith(mount.equals("/") ? "/" : mount + "/"))
                    && mount.length() > longest.length()) {
                longest = mount;
            }
        }
        return longest;
    }

    private static boolean needsOverlay(String mount) throws UntriableException {
        Path at = Path.of(mount);
        try {
            if (mount.equals("/dev")
                    || !Files.isDirectory(at)
                    || KERNEL.contains(Files.getFileStore(at).type())) {
                return false;
            }
        } catch (IOException e) {
            throw new UntriableException("what is mounted on " + mount + " cannot be told");
        }
        if (mount.matches("(?s)" + UNSAYABLE)) {
            throw new UntriableException("no overlay can be mounted over " + mount + ", because of its name");
        }
        return true;
    }

    private static List<StandIn> standIns(
            ImageContent content,
            List<String> hostMounts,
            Set<Long> sharedFiles,
            WorkspaceStandIns workspace,
            List<String> overlays,
            Map<String, String> values) {
        List<StandIn> standIns = new ArrayList<>();
        for (FileContent file : content.files()) {
            boolean written = file.access().contains("write") || sharedFiles.contains(file.id());
            if (file.kind() != FileKind.FILE
                    || !written
                    || !file.name().startsWith("/")
                    || workspace.holds(file.name())) {
                continue;
            }
            String mount = mountOf(file.name(), content, hostMounts);
            // Its size now, not that of the image: a file that has changed has to fail.
            inOverlay(file.name(), mount, overlays, values)
                    .flatMap(at -> large(file.name()).map(bytes -> new StandIn(at, bytes)))
                    .ifPresent(standIns::add);
        }
        return List.copyOf(standIns.stream().distinct().toList());
    }

    private static Optional<Long> large(String name) {
        try {
            Path path = Path.of(name);
            return Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS) && Files.size(path) > StrippedImage.SMALL
                    ? Optional.of(Files.size(path))
                    : Optional.empty();
        } catch (IOException | InvalidPathException e) {
            // CRIU finds it missing, or copies it.
            return Optional.empty();
        }
    }

    /** Empty for what {@code mkdir -m 755} makes as root; else the script has to take owner and mode over. */
    private static String traits(String folder) throws UntriableException {
        try {
            Map<String, Object> seen = Files.readAttributes(Path.of(folder), "unix:uid,gid,mode");
            boolean usual =
                    seen.get("uid").equals(0) && seen.get("gid").equals(0) && ((int) seen.get("mode") & 07777) == 0755;
            return usual ? "" : "others";
        } catch (IOException e) {
            throw new UntriableException("what is mounted on " + folder + " cannot be told");
        }
    }

    /** The words for {@code trial.sh}: numbers, each before what it counts. */
    List<String> words() throws UntriableException {
        List<String> words =
                new ArrayList<>(List.of(terminals ? "pts" : "", traits("/"), Integer.toString(overlays.size())));
        for (String mount : overlays) {
            words.add(mount);
            words.add(traits(mount));
        }
        words.add(Integer.toString(bound.size()));
        words.addAll(bound);
        words.add(Integer.toString(mountPoints.size()));
        words.addAll(mountPoints);
        words.add(Integer.toString(standIns.size()));
        for (StandIn each : standIns) {
            words.add(each.path());
            words.add(Long.toString(each.bytes()));
        }
        return words;
    }
}
