package io.jenkins.plugins.preemptible.engine.zdtm;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The program beside a test that the suite's own runner calls at certain moments, {@code TEST.hook}: the partner of the
 * test on the host, for instance.
 *
 * <ol>
 *   <li>It is called as the suite's runner does: from the folder {@code test}, with the moment as its argument.
 *   <li>Tests of control groups are cleared away after only: the hook would remove, before the restore, groups that are
 *       the host's and not the stage's.
 *   <li>The same holds for a hook that reads the test's process id from a file: it would be one of the stage's own.
 * </ol>
 *
 * @param file the program; may be missing
 * @param home an existing folder, where hooks look for images
 */
record ZdtmHook(ZdtmSuite suite, Path file, Path home) {

    static final String STARTED = "--post-start";
    static final String BEFORE_DUMP = "--pre-dump";
    static final String BEFORE_RESTORE = "--pre-restore";
    static final String RESTORED = "--post-restore";
    private static final String CLEAN = "--clean";
    private static final long LIMIT_SECONDS = 20;

    static ZdtmHook of(ZdtmSuite suite, String test, Path home) {
        return new ZdtmHook(suite, suite.beside(test, ".hook"), home);
    }

    /** Whether it is called at other moments than the end. */
    boolean takesPart() throws IOException {
        return Files.isExecutable(file)
                && !file.getFileName().toString().startsWith("cgroup")
                && !Files.readString(file, StandardCharsets.ISO_8859_1).contains(".pid.inprogress");
    }

    /**
     * Calls it, if it takes part.
     *
     * @param pid the test's process id on this host; 0 before it is known
     * @return whether it found all as it should be
     */
    boolean call(String moment, long pid) throws IOException {
        return !takesPart() || run(moment, pid);
    }

    /** Calls it to clear away, then ends what it left: the suite's own runner has a PID namespace for that. */
    void clean() {
        if (Files.isExecutable(file)) {
            run(CLEAN, 0);
            Proc.all().stream()
                    .filter(s -> Proc.arguments(s.pid()).contains(file.toString()))
                    .flatMap(s -> ProcessHandle.of(s.pid()).stream())
                    .forEach(ProcessHandle::destroyForcibly);
        }
    }

    private boolean run(String moment, long pid) {
        Map<String, String> environment = new HashMap<>(System.getenv());
        environment.put("ZDTM_TEST_PID", Long.toString(pid));
        environment.put("ZDTM_IMG_DIR", home.toString());
        return HostTool.run(
                        LIMIT_SECONDS,
                        environment,
                        List.of(
                                "sh",
                                "-c",
                                "cd \"$1\" && exec \"$2\" \"$3\"",
                                "zdtm-hook",
                                suite.folder().resolve("test").toString(),
                                file.toString(),
                                moment))
                .ok();
    }

    /** The process of a tree that has this id inside of its namespace; 0 when there is none. */
    static long outerPid(long init, String inner) {
        return Proc.tree(init).stream()
                .map(Proc.Stat::pid)
                .filter(p -> Integer.toString(Proc.innerPid(p)).equals(inner))
                .findFirst()
                .orElse(0L);
    }
}
