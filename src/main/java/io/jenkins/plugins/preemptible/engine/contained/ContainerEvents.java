package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a container's program has started in the container, as the program itself tells: also what has ended again.
 *
 * <ol>
 *   <li>Docker's daemon tells of a program before it starts it, also of a health check's. It remembers the last 256 events of all its
 *       containers: whether that reaches back far enough is seen by the oldest one.
 *   <li>Podman tells of a program some milliseconds after its start, and of a health check at its end. It keeps what it tells.
 *   <li>What somebody starts there without this program is told by nobody.
 * </ol>
 *
 * Sources: docker-events(1), podman-events(1).
 *
 * @param id of the container, all 64 digits
 */
record ContainerEvents(ContainerTool tool, String id) {

    private static final int NANO_DIGITS = 9;
    private static final int MOST_TRIES = 20;
    private static final long PAUSE_MILLIS = 100;
    /** With fewer events the daemon has forgotten none. */
    private static final int FEW = 64;
    /** Of other containers the time alone: what is started there is nobody's business. */
    private static final String DOCKER = "{{.TimeNano}} {{if eq .Actor.ID \"%s\"}}{{printf \"%%.10s\" .Action}}{{end}}";

    private static final Pattern DOCKER_EVENT = Pattern.compile("(?m)^([0-9]{1,19}) (.*)$");
    private static final List<String> PODMAN_STARTS = List.of("exec", "health_status");

    /**
     * Whether something was started there since that moment.
     *
     * @throws IOException when the program does not tell, or does not remember
     */
    boolean startedSince(Instant since) throws IOException {
        HostTool.Answer podman = tool.call(
                "events",
                "--stream=false",
                "--since",
                seconds(since),
                "--filter",
                "container=" + id,
                "--format",
                "{{.Status}}");
        if (podman.ok()) {
            return podman.text().lines().map(String::trim).anyMatch(PODMAN_STARTS::contains);
        }
        if (!podman.text().contains("unknown flag")) {
            throw tool.failed("events", podman);
        }
        HostTool.Answer docker = tool.call(
                "events", "--since", "0", "--until", seconds(Instant.now()), "--format", DOCKER.formatted(id));
        if (!docker.ok()) {
            throw tool.failed("events", docker);
        }
        return startedSince(docker.text(), since);
    }

    /**
     * Refuses a container whose program does not tell that it has started something there since that moment.
     *
     * @throws IOException when it does not
     */
    void requireTold(Instant since) throws IOException {
        for (int tries = 0; !startedSince(since); tries++) {
            if (tries == MOST_TRIES) {
                throw new IOException("its program does not tell what it starts there, by its events");
            }
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
    }

    /** @param told a line an event, the oldest first: its time, and what it was when it was in this container */
    static boolean startedSince(String told, Instant since) throws IOException {
        long begin = Long.parseLong(nanos(since));
        long events = 0;
        long oldest = Long.MAX_VALUE;
        boolean started = false;
        for (Matcher event = DOCKER_EVENT.matcher(told); event.find(); events++) {
            long time = Long.parseLong(event.group(1));
            oldest = Math.min(oldest, time);
            started |= time >= begin && event.group(2).startsWith("exec_");
        }
        if (!started && events >= FEW && oldest >= begin) {
            throw new IOException(
                    "so much happens in containers of this host that the daemon does not remember all of it");
        }
        return started;
    }

    private static String nanos(Instant time) {
        return time.getEpochSecond() + "%09d".formatted(time.getNano());
    }

    private static String seconds(Instant time) {
        String nanos = nanos(time);
        int point = nanos.length() - NANO_DIGITS;
        return nanos.substring(0, point) + "." + nanos.substring(point);
    }
}
