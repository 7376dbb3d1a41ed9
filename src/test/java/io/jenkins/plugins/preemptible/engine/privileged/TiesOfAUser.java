package io.jenkins.plugins.preemptible.engine.privileged;

import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.lines;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.says;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.until;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import java.io.File;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Starts a stage for each way to be tied to the outside, looks at it, and suspends and resumes what has no tie; a line for each.
 *
 * <p>Arguments: a folder, the program that ties, then for each stage its arguments with blanks between them; before a
 * {@code >} those of a process outside, whose file is the last argument of both. {@code tcp} connects
 * to this program; {@code close:} in front lets connections be cut.
 */
public final class TiesOfAUser {

    private static final String CLOSE = "close:";

    private TiesOfAUser() {}

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Path work = Files.createDirectories(home.resolve("work"));
        Engine engine = Engine.open(home.resolve("state"));
        for (String each : List.of(args).subList(2, args.length)) {
            String[] sides = each.split(">");
            Path meeting = home.resolve("at-" + Integer.toHexString(each.hashCode()));
            Process outside = sides.length == 1 ? null : outside(home, args[1], sides[0], meeting);
            List<String> command = words(args[1], sides[sides.length - 1]);
            if (outside != null && command.size() < 3) {
                command.add((Files.isSymbolicLink(meeting) ? meeting.toRealPath() : meeting).toString());
            }
            try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
                if (each.endsWith("tcp")) {
                    command.add(Integer.toString(server.getLocalPort()));
                }
                System.out.println(each + "=" + life(engine, work, home.resolve("image"), command, each));
            }
            if (outside != null) {
                outside.destroyForcibly();
            }
        }
        System.out.println("left=" + engine.list().size());
    }

    private static List<String> words(String program, String text) {
        List<String> words = new ArrayList<>(List.of(program));
        words.addAll(List.of(text.trim().replace(CLOSE, "").split(" ")));
        return words;
    }

    private static Process outside(Path home, String program, String text, Path meeting) throws Exception {
        List<String> command = words(program, text);
        command.add(meeting.toString());
        Path out = home.resolve("outside.out");
        Files.deleteIfExists(out);
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(out.toFile())
                .start();
        until(() -> says(out, "ready"));
        return process;
    }

    private static String life(Engine engine, Path work, Path archive, List<String> command, String text)
            throws Exception {
        StageId id = StageId.create("tie");
        Connections connections = text.startsWith(CLOSE) ? Connections.CLOSE : Connections.REFUSE;
        engine.start(new StageSpec(id, "tie", work, command, Map.of("PATH", "/usr/bin:/bin"), connections, List.of()));
        Path output = engine.status(id).output();
        try {
            until(() -> says(output, "ready") || says(output, "cannot"));
            if (says(output, "cannot")) {
                return "CANNOT";
            }
            long begun = System.nanoTime();
            PreflightReport report = engine.preflight(id);
            System.err.println(
                    "preflight of " + command.get(1) + ": " + (System.nanoTime() - begun) / 1_000_000 + " ms");
            if (!report.ok()) {
                return report.obstacles().stream()
                                .map(Obstacle::reason)
                                .distinct()
                                .toList() + " " + report.obstacles().get(0).words();
            }
            return resumed(engine, id, archive, output);
        } finally {
            engine.kill(id);
            engine.forget(id);
        }
    }

    private static String resumed(Engine engine, StageId id, Path archive, Path output) throws Exception {
        ImageKey key = ImageKey.generate();
        try {
            engine.suspend(id, archive, key);
            if (engine.resumeHere(id).isEmpty()) {
                engine.resume(archive, key);
                return "RESUMED from the archive only";
            }
        } catch (EngineException e) {
            return e.reason() + " " + e.criuLines();
        }
        long before = lines(output);
        until(() -> lines(output) > before + 2);
        return "RESUMED";
    }
}
