package io.jenkins.plugins.preemptible.engine.move;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.HostProbe;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * What of an agent's host a stage depends on, as far as another agent may differ.
 *
 * <ol>
 *   <li>{@link #read} asks on the host itself; {@link HostFit} compares two of them.
 *   <li>The token lies in a file of the home folder: two agents that read the same one share that folder, whatever their
 *       paths, mounts or hosts are.
 *   <li>It arrives from an agent that may send anything: texts are cleaned, numbers and lists bounded.
 * </ol>
 *
 * @param folder the agent's root folder, absolute
 * @param token of the home folder below it; empty when it could not be made
 * @param root whether the agent's process has root's rights
 * @param cpuModel for people
 * @param cpuFeatures the kernel's names
 * @param kernel release
 * @param arch as {@code uname -m} says
 * @param criu version of the one that works; empty when none does, or no images are made
 * @param mounts mount points at and above the root folder
 * @param freeMemoryBytes at least 0
 * @param freeDiskBytes of the root folder's disk, at least 0
 * @param buildIds of the files that were asked for, as in {@link HostFingerprint}
 * @param users the names of the user ids that were asked for, likewise; an id whose name is unknown is left out
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record HostTraits(
        String folder,
        String token,
        boolean root,
        String cpuModel,
        List<String> cpuFeatures,
        String kernel,
        String arch,
        String criu,
        List<String> mounts,
        long freeMemoryBytes,
        long freeDiskBytes,
        Map<String, String> buildIds,
        // Not in the records of a stage, where an older version of the plugin would stumble over it.
        @JsonInclude(JsonInclude.Include.NON_EMPTY) Map<String, String> users)
        implements Serializable {

    private static final String TOKEN = "host-token";
    /** Of no folder. */
    private static final String NONE = "-";

    private static final int MOST_WORDS = 2000;
    private static final int MOST_FILES = 4096;
    private static final int MOST_TOKEN_CHARS = 100;

    public HostTraits {
        folder = text(folder);
        token = text(token);
        cpuModel = text(cpuModel);
        cpuFeatures = texts(cpuFeatures);
        kernel = text(kernel);
        arch = text(arch);
        criu = text(criu);
        mounts = texts(mounts);
        freeMemoryBytes = Math.max(0, freeMemoryBytes);
        freeDiskBytes = Math.max(0, freeDiskBytes);
        buildIds = texts(buildIds);
        users = texts(users);
    }

    /** Whose users were not asked for. */
    public HostTraits(
            String folder,
            String token,
            boolean root,
            String cpuModel,
            List<String> cpuFeatures,
            String kernel,
            String arch,
            String criu,
            List<String> mounts,
            long freeMemoryBytes,
            long freeDiskBytes,
            Map<String, String> buildIds) {
        this(
                folder,
                token,
                root,
                cpuModel,
                cpuFeatures,
                kernel,
                arch,
                criu,
                mounts,
                freeMemoryBytes,
                freeDiskBytes,
                buildIds,
                null);
    }

    private static Map<String, String> texts(Map<?, ?> any) {
        Map<String, String> texts = new TreeMap<>();
        if (any != null) {
            for (Map.Entry<?, ?> each : any.entrySet()) {
                if (texts.size() < MOST_FILES) {
                    texts.put(text(each.getKey()), text(each.getValue()));
                }
            }
        }
        return Map.copyOf(texts);
    }

    private static String text(Object any) {
        return any instanceof String string ? PlainText.of(string) : "";
    }

    private static List<String> texts(List<?> any) {
        List<String> texts = new ArrayList<>();
        Iterator<?> all = any == null ? List.of().iterator() : any.iterator();
        while (all.hasNext() && texts.size() < MOST_WORDS) {
            texts.add(text(all.next()));
        }
        return List.copyOf(texts);
    }

    /** The same, of which no users are wanted. */
    public static HostTraits read(Path home, CriuSearch criu, Collection<String> files) throws IOException {
        return read(home, criu, files, List.of());
    }

    /**
     * Asks this host. Takes as long as {@code criu check} the first time, milliseconds afterwards.
     *
     * @param home the engine's home folder in the agent's root folder; made for its owner only when it is not there
     * @param criu where to look for the program; null where no images are made
     * @param files whose build ids are wanted
     * @param users numeric ids whose names are wanted
     * @throws IOException when the folder cannot be made or asked
     */
    public static HostTraits read(Path home, CriuSearch criu, Collection<String> files, Collection<String> users)
            throws IOException {
        Files.createDirectories(
                home, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path folder = home.toAbsolutePath().normalize().getParent();
        String version = criu == null ? "" : criu.usable().map(Criu::version).orElse("");
        HostFingerprint host = HostProbe.fingerprint(version, files);
        return new HostTraits(
                folder.toString(),
                token(home),
                HostProcess.isRoot(),
                host.cpuModel(),
                host.cpuFeatures(),
                host.kernel(),
                host.arch(),
                version,
                mountsAbove(folder, Proc.self("mountinfo")),
                HostMemory.now().availableBytes(),
                Files.getFileStore(home).getUsableSpace(),
                host.buildIds(),
                HostProbe.users(users));
    }

    /** The same, of a host that no agent is known for any more: an agent of its folder is that host by another name. */
    public HostTraits ofNoAgent() {
        return new HostTraits(
                folder,
                NONE,
                root,
                cpuModel,
                cpuFeatures,
                kernel,
                arch,
                criu,
                mounts,
                freeMemoryBytes,
                freeDiskBytes,
                buildIds);
    }

    static List<String> mountsAbove(Path folder, List<String> mountInfo) {
        return mountInfo.stream()
                .map(Mounts::pointOf)
                .filter(point -> folder.startsWith(point))
                .distinct()
                .sorted()
                .toList();
    }

    /** A link in its place is not followed: it could name the token of another agent. */
    private static String token(Path home) throws IOException {
        Path file = home.resolve(TOKEN);
        if (!Files.isRegularFile(file, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
            Path made = Files.createTempFile(home, TOKEN, ".tmp");
            try {
                Files.writeString(made, UUID.randomUUID().toString());
                // Linked, not moved: of two that make one at the same time both read the same one afterwards.
                Files.createLink(file, made);
            } catch (FileAlreadyExistsException e) {
                // Somebody was faster.
            } finally {
                Files.deleteIfExists(made);
            }
        }
        String token = Files.readString(file).trim();
        return token.length() > MOST_TOKEN_CHARS ? "" : token;
    }
}
