package io.jenkins.plugins.preemptible.engine.live.memory;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Copies of frozen processes that hold their memory as it was, while the processes run again.
 *
 * <ol>
 *   <li>A small process of its own makes them ({@code copies.pl}, which says how): it is started before the stage is
 *       frozen, and outlives this one long enough to leave the stage whole.
 *   <li>{@link #take} thaws the stage. A copy is a child of its init, never runs, has no file open, and shares all memory with
 *       its original until that changes it.
 *   <li>{@link #close} ends the copies; so does the end of this process.
 * </ol>
 *
 * For one thread; the caller holds the stage's lock until the end.
 */
public final class MemoryCopies implements AutoCloseable {

    private static final Duration START_LIMIT = Duration.ofSeconds(20);
    private static final Duration END_LIMIT = Duration.ofSeconds(30);

    private final Process process;
    private final OutputStream words;
    private final BufferedReader answers;

    private MemoryCopies(Process process) {
        this.process = process;
        this.words = process.getOutputStream();
        this.answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.ISO_8859_1));
    }

    /**
     * Starts what will make them. The stage may run.
     *
     * @param freezer file of the stage's freezer
     * @param thawed word that thaws it when it is written there
     */
    public static MemoryCopies start(Path freezer, String thawed) throws IOException {
        List<String> command = new ArrayList<>();
        HostTool.find("setsid").ifPresent(tool -> command.add(tool.toString()));
        command.addAll(List.of(
                CopyPlan.perl().orElseThrow(() -> new NoCopyException("the agent's host has no Perl", null)),
                "-e",
                Script.text(MemoryCopies.class, "copies.pl"),
                freezer.toString(),
                thawed));
        MemoryCopies copies = new MemoryCopies(new ProcessBuilder(command)
                .directory(new File("/"))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start());
        String answer = copies.answer(START_LIMIT);
        if (!"ready".equals(answer)) {
            copies.close();
            throw new NoCopyException("Perl does not start: " + PlainText.of(answer), null);
        }
        return copies;
    }

    /**
     * Copies processes of a frozen tree, and thaws it.
     *
     * @param limit after which it is given up
     * @return the copies by their originals, ids of this host
     * @throws NoCopyException without any copy; the stage may be frozen or not
     */
    public Map<Long, Long> take(CopyPlan plan, Duration limit) throws IOException {
        say("copy " + join(plan.copied()) + " - " + join(plan.others()));
        String answer = answer(limit);
        if (!answer.startsWith("copied")) {
            throw new NoCopyException(PlainText.of(answer.replaceFirst("^no ", "")), null);
        }
        Map<Long, Long> copies = new HashMap<>();
        for (String each : answer.substring("copied".length()).trim().split(" ")) {
            if (!each.isEmpty()) {
                String[] both = each.split("=");
                copies.put(Long.parseLong(both[0]), Long.parseLong(both[1]));
            }
        }
        return copies;
    }

    private static String join(List<Long> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    /**
     * Refuses a copy in which memory is empty that its original has: MADV_WIPEONFORK of madvise(2).
     *
     * @throws NoCopyException for a copy that has such memory
     */
    public static void refuseWiped(long copy) throws IOException {
        // File names may be in any character set.
        try (var lines = Files.lines(Path.of("/proc/" + copy + "/smaps"), StandardCharsets.ISO_8859_1)) {
            if (lines.anyMatch(line -> line.startsWith("VmFlags:") && (line + " ").contains(" wf "))) {
                throw NoCopyException.lasting("a part of its memory is empty in children", null);
            }
        }
    }

    /** The next line; an empty one at the end. */
    private String answer(Duration limit) throws IOException {
        long end = System.nanoTime() + limit.toNanos();
        while (process.isAlive() && process.getInputStream().available() == 0) {
            if (System.nanoTime() - end > 0) {
                // The kernel lets go of the stage with its end.
                process.destroyForcibly();
                throw new NoCopyException("its processes were not copied within " + limit.toSeconds() + " s", null);
            }
            pause();
        }
        String line = answers.readLine();
        return line == null ? "" : line;
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(0, 200_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private void say(String word) throws IOException {
        try {
            words.write((word + "\n").getBytes(StandardCharsets.US_ASCII));
            words.flush();
        } catch (IOException e) {
            throw new NoCopyException("what makes the copies has ended", e);
        }
    }

    /** Returns when no copy is left. */
    @Override
    public void close() throws IOException {
        try {
            words.close();
        } catch (IOException e) {
            // It has ended.
        }
        boolean interrupted = false;
        long end = System.nanoTime() + END_LIMIT.toNanos();
        while (process.isAlive()) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            if (System.nanoTime() - end > 0) {
                process.destroyForcibly();
            }
        }
        answers.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
