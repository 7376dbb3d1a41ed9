package io.jenkins.plugins.preemptible.engine.contained;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
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
public final class ContainerTool {

    private static final long SECONDS = 20;
    private static final int TRIES = 3;
    private static final int MOST_MARKS = 10;
    private static final String FORMAT = "{{.Id}} {{.State.Pid}} {{.State.Status}} ";
    /** Podman's shell command that stands for docker writes a line of its own before. */
    private static final Pattern ANSWER = Pattern.compile("(?m)^([0-9a-f]{64}) ([0-9]{1,10}) ([a-z]{1,20}) ([0-9]*)$");

    /** Docker has no check for the start, and Podman before 4.4 has none. */
    private static final Pattern UNKNOWN_FIELD = Pattern.compile("(field |key \")StartupHealthCheck");

    private static final ObjectMapper JSON = new ObjectMapper();

    private final ContainerRef container;

    public ContainerTool(ContainerRef container) {
        this.container = container;
    }

    /**
     * What the program says of the container.
     *
     * @param id all 64 digits
     * @param pid of its first process as the daemon's host numbers it; 0 when it does not run
     * @param marked whether it was started with all the variables that were asked for
     */
    public record Seen(String id, long pid, String status, boolean marked) {
        public boolean paused() {
            return status.equals("paused");
        }

        public boolean runs() {
            return status.equals("running");
        }
    }

    /**
     * @param marks variables with their values; none of its other variables, which may hold secrets, gets here
     * @return empty when there is no such container
     */
    public Optional<Seen> inspect(List<String> marks) throws IOException {
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

    /** Whether the program starts something in it from time to time, by HEALTHCHECK of its image or an option. */
    boolean checksHealth() throws IOException {
        return checksHealth("Healthcheck") || checksHealth("StartupHealthCheck");
    }

    private boolean checksHealth(String field) throws IOException {
        HostTool.Answer answer =
                call("inspect", "--type", "container", "--format", "{{json .Config." + field + "}}", container.id());
        if (!answer.ok() && UNKNOWN_FIELD.matcher(answer.text()).find()) {
            return false;
        }
        if (!answer.ok()) {
            throw failed("inspect", answer);
        }
        String said = answer.text().trim().lines().reduce((a, b) -> b).orElse("");
        return !said.equals("<no value>") && hasCommand(said);
    }

    /** Without a command there is none, and NONE is one of the image that was switched off. */
    static boolean hasCommand(String json) throws JsonProcessingException {
        String kind = JSON.readTree(json).path("Test").path(0).asText();
        return !kind.isEmpty() && !kind.equals("NONE");
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
    public void pause() throws IOException {
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

    public void unpause() throws IOException {
        must("unpause", container.id());
    }

    /** Removes the container with all that runs in it; harmless when it is gone. */
    public void remove() throws IOException {
        // Podman's rm gives it ten seconds to end by itself. One that is paused or has ended refuses this, which rm
        // does not.
        call("kill", "--signal", "KILL", container.id());
        HostTool.Answer answer = call("rm", "--force", "--volumes", container.id());
        if (!answer.ok() && inspect(List.of()).isPresent()) {
            throw failed("rm", answer);
        }
    }

    /** Asks a program in the container to send SIGKILL to these of its processes, as the container numbers them. */
    public void killInside(List<Integer> pids) throws IOException {
        List<String> words = new ArrayList<>(List.of("exec", "--user", "0:0", container.id(), "kill", "-9"));
        pids.forEach(pid -> words.add(String.valueOf(pid)));
        must(words.toArray(String[]::new));
    }

    /** The command that starts a program in it which lives as long as it is let. */
    List<String> probing(String variable) throws IOException {
        return List.of(program().toString(), "exec", "--interactive", "--env", variable, container.id(), "cat");
    }

    private void must(String... words) throws IOException {
        HostTool.Answer answer = call(words);
        if (!answer.ok()) {
            throw failed(words[0], answer);
        }
    }

    IOException failed(String verb, HostTool.Answer answer) {
        return new IOException(
                container.program() + " " + verb + ": " + (answer.text().isBlank() ? "no answer" : answer.firstLine()));
    }

    HostTool.Answer call(String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of(program().toString()));
        command.addAll(List.of(words));
        return HostTool.run(SECONDS, command);
    }

    private Path program() throws IOException {
        return HostTool.find(container.program())
                .orElseThrow(() -> new IOException("there is no program " + container.program()));
    }
}
