package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * A user without root's rights, who dumps a stage, changes its images and restores each of them; one line for each:
 * name, messages that were changed, answer, what ran with other rights, what the threads have.
 *
 * <p>Arguments: the stage's program, root's folder, the user's group, one of the kinds of {@link Forgeries}.
 */
public final class LifeWithForgedImages {

    private static final long LONGEST_MILLIS = 3000;

    private final Path home = Path.of(System.getenv("HOME"));
    private final PrivilegedPart part = PrivilegedPart.find().orElseThrow();
    private final StageId id = StageId.parse("forged");
    private final List<String> words = new ArrayList<>();

    private LifeWithForgedImages() {}

    public static void main(String[] args) throws Exception {
        Forgeries all = new Forgeries(Path.of(args[1]), Long.parseLong(args[2]));
        new LifeWithForgedImages()
                .live(
                        args[0],
                        args[3].equals("rights")
                                ? all.rights
                                : args[3].equals("contents") ? all.contents : all.hanging);
    }

    private void live(String program, Map<String, Forgeries.Forgery> forgeries) throws Exception {
        Path images = Files.createDirectories(home.resolve("images"));
        Path logs = Files.createDirectories(home.resolve("logs"));
        Files.writeString(home.resolve("held"), "held");
        PrivilegedPart.Seen started = part.start(
                id,
                List.of("/bin/sh", "-c", "cd '" + home + "' && exec '" + program + "' counter noted held"),
                Map.of("PATH", "/usr/bin:/bin"),
                home.resolve("errors"),
                false);
        until(() -> count() > 100);
        String usual = rights(started.group());
        part.freeze(id);
        words.addAll(List.of(images.toString(), logs.toString(), "ghost-limit=1048576"));
        for (String mount : Mounts.ofHost(Files.readAllLines(Path.of("/proc/" + started.init() + "/mountinfo")))) {
            words.add("mount=" + mount);
        }
        int code = part.dump(id, words, () -> false);
        if (code != 0) {
            throw new IllegalStateException("dump: " + code + Files.readString(logs.resolve("dump.log")));
        }
        part.kill(id);
        part.forget(id);
        Path original = home.resolve("original");
        StageFolder.delete(original);
        Files.move(images, original);
        String unforged = restore(original, usual, image -> 0);
        System.out.println("unforged\t" + unforged);
        for (Map.Entry<String, Forgeries.Forgery> each : forgeries.entrySet()) {
            System.out.println(each.getKey() + "\t" + restore(original, usual, each.getValue()));
        }
    }

    private String restore(Path original, String usual, Forgeries.Forgery forgery) throws Exception {
        Path images = Files.createDirectory(home.resolve("images"));
        try (Stream<Path> files = Files.list(original)) {
            for (Path file : files.toList()) {
                Files.copy(file, images.resolve(file.getFileName()));
            }
        }
        int changed = forgery.apply(new ForgedImage(images));
        Files.write(home.resolve("noted"), new byte[0]);
        long before = count();
        String answer;
        String rights = "same";
        long end = System.nanoTime() + LONGEST_MILLIS * 1_000_000;
        try {
            PrivilegedPart.Seen restored = part.restore(id, words, () -> System.nanoTime() > end);
            answer = "restored";
            until(() -> count() != before);
            Thread.sleep(50);
            String now = rights(restored.group());
            rights = now.equals(usual) ? "same" : now;
        } catch (EngineException e) {
            answer = "refused " + e.reason() + " " + e.detail();
            if (count() != before) {
                rights = "it ran";
            }
        } finally {
            end();
        }
        StageFolder.delete(images);
        return changed + "\t" + answer.replaceAll("\\s+", " ") + "\t"
                + Files.readString(home.resolve("noted")).lines().limit(2).toList() + "\t" + rights;
    }

    private void end() {
        try {
            part.kill(id);
            part.forget(id);
        } catch (EngineException e) {
            // Nothing was left of it.
        }
    }

    private long count() {
        try {
            byte[] bytes = Files.readAllBytes(home.resolve("counter"));
            return bytes.length < 8
                    ? 0
                    : java.nio.ByteBuffer.wrap(bytes)
                            .order(java.nio.ByteOrder.LITTLE_ENDIAN)
                            .getLong();
        } catch (IOException e) {
            return 0;
        }
    }

    /** What all threads of a group have, each kind once. */
    private static String rights(String group) throws IOException {
        TreeSet<String> all = new TreeSet<>();
        for (String thread : Files.readAllLines(Path.of(group, "cgroup.threads"))) {
            StringBuilder of = new StringBuilder();
            for (String line : Files.readAllLines(Path.of("/proc", thread, "status"))) {
                if (line.matches("(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs):.*")) {
                    of.append(
                                    line.length() > 200
                                            ? line.substring(0, 200)
                                            : line.trim().replaceAll("\\s+", " "))
                            .append('|');
                }
            }
            all.add(of.toString());
        }
        return all.toString();
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + 10_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("nothing came");
            }
            Thread.sleep(5);
        }
    }
}
