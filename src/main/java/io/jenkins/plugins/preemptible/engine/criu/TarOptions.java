package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What CRIU's calls of tar have to keep of a tmpfs of the stage beyond tar's own defaults.
 *
 * <ol>
 *   <li>CRIU packs such a tmpfs by GNU tar in tar's old format: times are cut to whole seconds, extended attributes
 *       (among them the capabilities of programs) are left out.
 *   <li>GNU tar takes more options from {@code TAR_OPTIONS}. Without it, or with a tar that does not know the options,
 *       everything is as before.
 *   <li>Archives of either format are unpacked with the same options.
 * </ol>
 *
 * Safe for any thread. Sources: CRIU's {@code tmpfs_dump} and {@code tmpfs_restore}; GNU tar's manual, "TAR_OPTIONS",
 * "Extended File Attributes" and "POSIX archives".
 */
public final class TarOptions {

    static final String VARIABLE = "TAR_OPTIONS";
    static final String RESTORE = "--xattrs --xattrs-include=*";
    static final String DUMP = "--format=posix " + RESTORE;

    private static final long ANSWER_SECONDS = 10;
    private static final Map<Path, Boolean> KNOWN = new ConcurrentHashMap<>();

    private TarOptions() {}

    /** Sets the variable for a dump; without effect where tar does not know the options. */
    static void useForDump(Map<String, String> environment) {
        use(environment, DUMP);
    }

    /** Sets the variable for a restore or its trial; without effect where tar does not know the options. */
    public static void useForRestore(Map<String, String> environment) {
        use(environment, RESTORE);
    }

    /** Makes the folder that comes first on CRIU's PATH, as a dump does, for a trial on a host that has made no dump. */
    public static void makeTools(Path folder) throws IOException {
        CopyingGzip.use(new HashMap<>(), folder);
    }

    private static void use(Map<String, String> environment, String options) {
        // The caller's own are for his archives, and could lead CRIU's anywhere.
        environment.remove(VARIABLE);
        HostTool.find("tar")
                .filter(tar -> KNOWN.computeIfAbsent(tar, TarOptions::knows))
                .ifPresent(tar -> environment.put(VARIABLE, options));
    }

    /** Whether this is a GNU tar that takes the options. */
    static boolean knows(Path tar) {
        HostTool.Answer answer = HostTool.run(
                ANSWER_SECONDS,
                Map.of(),
                List.of(tar.toString(), "--format=posix", "--xattrs", "--xattrs-include=*", "--version"));
        return answer.ok() && answer.firstLine().contains("GNU tar");
    }
}
