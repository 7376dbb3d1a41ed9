package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A small process that thaws a stage when this one dies.
 *
 * <ol>
 *   <li>It is started before the stage is frozen, and waits for the end of its input, which the kernel closes with this
 *       process.
 *   <li>It is told of criu: a criu whose caller died freezes the stage again when it ends.
 *   <li>{@link #close}, after the stage was thawed here, ends it without effect.
 * </ol>
 *
 * For one thread.
 */
final class ThawGuard implements AutoCloseable {

    private final Process process;
    private final OutputStream words;

    private ThawGuard(Process process) {
        this.process = process;
        this.words = process.getOutputStream();
    }

    /** @param freezer a control group */
    static ThawGuard of(Freezer freezer) throws IOException {
        List<String> command = new ArrayList<>();
        HostTool.find("setsid").ifPresent(tool -> command.add(tool.toString()));
        command.addAll(List.of(
                "/bin/sh",
                "-c",
                Script.text(ThawGuard.class, "thaw.sh"),
                "preemptible-thaw",
                file(freezer).toString(),
                word(freezer)));
        Process process = new ProcessBuilder(command)
                .directory(new File("/"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return new ThawGuard(process);
    }

    /** The file of a control group that freezes and thaws. */
    static Path file(Freezer freezer) {
        boolean unified = freezer.kind() == FreezerKind.CGROUP_V2;
        return freezer.cgroup().orElseThrow().resolve(unified ? "cgroup.freeze" : "freezer.state");
    }

    /** What thaws it, written there. */
    static String word(Freezer freezer) {
        return freezer.kind() == FreezerKind.CGROUP_V2 ? "0" : "THAWED";
    }

    /** A criu works on the stage. */
    void dumper(long pid) throws IOException {
        say(Long.toString(pid));
    }

    private void say(String word) throws IOException {
        words.write((word + "\n").getBytes(StandardCharsets.US_ASCII));
        words.flush();
    }

    @Override
    public void close() throws IOException {
        try (words) {
            say("done");
        } finally {
            // It would thaw the stage in the midst of the next suspension.
            boolean interrupted = false;
            while (process.isAlive()) {
                try {
                    process.waitFor();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
