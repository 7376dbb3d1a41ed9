package io.jenkins.plugins.preemptible.engine.container;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * The command line of Docker or Podman, called with the rights of this process.
 *
 * <p>The program is looked for in this process's own PATH; nothing of the stage's environment is used. Each call has a limit
 * of {@value #SECONDS} s. Safe for any thread.
 */
final class ContainerTool {

    private static final long SECONDS = 20;
    private static final int TRIES = 3;
    private static final int MOST_MARKS = 10;
    private static final String FORMAT = "{{.Id}} {{.State.Pid}} {{.State.Status}} ";
    /** Podman's shell command that stands for docker writes a line of its own before. */
    private static final Pattern ANSWER = Pattern.compile("(?m)^([0-9a-f]{64}) ([0-9]{1,10}) ([a-z]{1,20}) ([0-9]*)$");

    private final ContainerRef container;

    ContainerTool(ContainerRef container) {
        this.container = container;
    }

    /**
     * What the program says of the container.
     *
     * @param id all 64 digits
     * @param pid of its first process as the daemon's host numbers it; 0 when it does not run
     * @param marked whether it was started with all the variables that were asked for
     */
    record Seen(String id, long pid, String status, boolean marked) {
        boolean paused() {
            return status.equals("paused");
        }

        boolean runs() {
            return status.equals("running");
        }
    }

    /**
     * @param marks variables with their values; none of its other variables, which may hold secrets, gets here
     * @return empty when there is no such container
     */
    Optional<Seen> inspect(List<String> marks) throws IOException {
        HostTool.Answer answer =
                call("inspect", "--type", "container", "--format", FORMAT + found(marks), container.id());
        Matcher said = ANSWER.matcher(answer.text());
        if (answer.ok() && said.find() && said.group(1).startsWith(container.id())) {
            boolean marked = !marks.isEmpty()
                    && IntStream.range(0, marks.size())
                            .allMatch(i -> said.group(4).contains(String.valueOf(i)));
            return Optional.of(new Seen(said.group(1), Long.parseLong(said.group(2)), said.group(3), marked));
        }
        if (answer.code() > 0 && answer.text().toLowerCase(Locale.ROOT).contains("no such container")) {
            return Optional.empty();
        }
        throw failed("inspect", answer);
    }

    /** In a template of the programs: the numbers of those variables that the container has. */
    private static String found(List<String> marks) {
        StringBuilder template = new StringBuilder("{{range .Config.Env}}");
        for (int i = 0; i < Math.min(marks.size(), MOST_MARKS); i++) {
            template.append("{{if eq . ")
                    .append(quoted(marks.get(i)))
                    .append("}}")
                    .append(i)
                    .append("{{end}}");
        }
        return template.append("{{end}}").toString();
    }

    /** A text of Go's, in ASCII: whatever the locale of this process is, it arrives as it is. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.codePoints().forEach(point -> {
            boolean plain =
                    point > ' ' && point < 0x7f && point != '"' && point != '\\' && point != '{' && point != '}';
            quoted.append(plain ? Character.toString(point) : String.format("\\U%08x", point));
        });
        return quoted.append('"').toString();
    }

    /**
     * On a host with much to do, runc gives a container up that starts processes faster than they are frozen (control groups of
     * version 1).
     */
    void pause() throws IOException {
        IOException failure = null;
        for (int tries = 0; tries < TRIES; tries++) {
            try {
                must("pause", container.id());
                return;
            } catch (IOException e) {
                failure = e;
            }
        }
        throw failure;
    }

    void unpause() throws IOException {
        must("unpause", container.id());
    }

    /** Removes the container with all that runs in it; harmless when it is gone. */
    void remove() throws IOException {
        HostTool.Answer answer = call("rm", "--force", "--volumes", container.id());
        if (!answer.ok() && inspect(List.of()).isPresent()) {
            throw failed("rm", answer);
        }
    }

    /** Asks a program in the container to send SIGKILL to these of its processes, as the container numbers them. */
    void killInside(List<Integer> pids) throws IOException {
        List<String> words = new ArrayList<>(List.of("exec", "--user", "0:0", container.id(), "kill", "-9"));
        pids.forEach(pid -> words.add(String.valueOf(pid)));
        must(words.toArray(String[]::new));
    }

    private void must(String... words) throws IOException {
        HostTool.Answer answer = call(words);
        if (!answer.ok()) {
            throw failed(words[0], answer);
        }
    }

    private IOException failed(String verb, HostTool.Answer answer) {
        return new IOException(
                container.program() + " " + verb + ": " + (answer.text().isBlank() ? "no answer" : answer.firstLine()));
    }

    private HostTool.Answer call(String... words) throws IOException {
        Path program = HostTool.find(container.program())
                .orElseThrow(() -> new IOException("there is no program " + container.program()));
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(List.of(words));
        return HostTool.run(SECONDS, command);
    }
}
