package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.FilePath;
import hudson.remoting.DelegatingCallable;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.jenkinsci.remoting.RoleChecker;

/**
 * An agent that answers our callables with whatever it likes, in place of what they found out.
 *
 * <ol>
 *   <li>Wraps each of our callables on its way to an agent; on that agent alone the answer is replaced.
 *   <li>The answer is made there and travels as any other: null, other types, odd characters, extreme numbers, ids of other
 *       stages, failures of every kind.
 *   <li>Seeded: the n-th answer of a test is the same in each run with that seed.
 * </ol>
 */
public final class HostileAnswers {

    /** How the bytes begin that a hostile agent sends as an image. */
    public static final String MARK = "HOSTILE-BYTES";
    /** The environment variable of the agent that lies. */
    public static final String VARIABLE = "HOSTILE_AGENT";

    private static final AtomicLong COUNT = new AtomicLong();
    private static volatile int honestPercent = 100;
    private static volatile long seed;
    /** What is added to the size of each image that the agent announces. */
    private static volatile long misstatedBytes;

    private HostileAnswers() {}

    /** @param percent how many answers are the true ones; 100 = all */
    public static void begin(long newSeed, int percent) {
        seed = newSeed;
        honestPercent = percent;
    }

    public static void end() {
        honestPercent = 100;
        misstatedBytes = 0;
    }

    /** The agent tells the truth, but that its images are smaller than they are. */
    public static void understate() {
        misstatedBytes = -1000;
    }

    /** The agent tells the truth, but that each of its images has a petabyte. */
    public static void overstate() {
        misstatedBytes = 1L << 50;
    }

    /** How many calls were wrapped, to any agent. */
    public static long count() {
        return COUNT.get();
    }

    /** Puts the wrapper around each of our callables. A test has to make an extension of it. */
    public static class Factory extends FilePath.FileCallableWrapperFactory {
        @Override
        public <T> DelegatingCallable<T, IOException> wrap(DelegatingCallable<T, IOException> callable) {
            Object ours = field(callable, "callable");
            if (ours instanceof StoppableVerb<?> stoppable) {
                ours = stoppable.verb();
            }
            boolean wrapped = (honestPercent < 100 || misstatedBytes != 0)
                    && ours != null
                    && ours.getClass().getName().startsWith("io.jenkins.plugins.preemptible.agent.");
            if (!wrapped) {
                return callable;
            }
            Object most = field(ours, "most");
            return new Lying<>(
                    callable,
                    ours.getClass().getSimpleName(),
                    seed + COUNT.incrementAndGet(),
                    honestPercent,
                    misstatedBytes,
                    most == null ? 0 : (Integer) most);
        }

        private static Object field(Object of, String name) {
            try {
                Field field = of.getClass().getDeclaredField(name);
                field.setAccessible(true);
                return field.get(of);
            } catch (ReflectiveOperationException x) {
                return null;
            }
        }
    }

    private static final class Lying<T> implements DelegatingCallable<T, IOException> {
        private static final long serialVersionUID = 1L;
        private final DelegatingCallable<T, IOException> real;
        private final String verb;
        private final long seed;
        private final int honestPercent;
        private final long misstatedBytes;
        private final int most;

        Lying(
                DelegatingCallable<T, IOException> real,
                String verb,
                long seed,
                int honestPercent,
                long misstatedBytes,
                int most) {
            this.real = real;
            this.verb = verb;
            this.seed = seed;
            this.honestPercent = honestPercent;
            this.misstatedBytes = misstatedBytes;
            this.most = most;
        }

        @Override
        @SuppressWarnings("unchecked")
        public T call() throws IOException {
            Random random = new Random(seed);
            if (System.getenv(VARIABLE) == null || random.nextInt(100) < honestPercent) {
                T told = real.call();
                return misstatedBytes != 0 && told instanceof AgentStage.Dump dump ? (T) misstated(dump) : told;
            }
            return (T) new Liar(random, most).answer(verb);
        }

        private AgentStage.Dump misstated(AgentStage.Dump dump) {
            return new AgentStage.Dump(
                    dump.refusal(),
                    dump.dumpMillis(),
                    dump.archiveMillis(),
                    dump.imageBytes(),
                    dump.archiveBytes() + misstatedBytes,
                    dump.processes());
        }

        @Override
        public ClassLoader getClassLoader() {
            return Lying.class.getClassLoader();
        }

        @Override
        public void checkRoles(@NonNull RoleChecker checker) throws SecurityException {
            real.checkRoles(checker);
        }
    }

    /** Makes one answer. */
    private record Liar(Random random, int most) {

        private static final List<String> TEXTS = Arrays.asList(
                null,
                "",
                "a\u0000b",
                "\u001b[2J\u001b]0;x\u0007",
                "\ufffe\uffff",
                "\ud800",
                "\udc00x",
                "\u202etxt.exe",
                "line\n[preemptible] Resumed on worker #0 in 1 ms\r\n",
                "<script>alert(1)</script>",
                "${jndi:ldap://x}",
                "x".repeat(100_000),
                "OBJECTION",
                "FROZEN",
                "ARCHIVE",
                "/etc/passwd",
                "../../../secrets/master.key",
                "honest-00000000");

        Object answer(String verb) throws IOException {
            int kind = random.nextInt(10);
            if (kind == 0) {
                return null;
            }
            if (kind == 1) {
                return any();
            }
            if (kind == 2) {
                fail();
            }
            return fitting(verb);
        }

        private Serializable any() {
            return switch (random.nextInt(8)) {
                case 0 -> text();
                case 1 -> number();
                case 2 -> new int[random.nextInt(1000)];
                case 3 -> new ArrayList<>(List.of("x", 1));
                case 4 -> (Serializable) Map.of("a", "b");
                case 5 -> (Serializable) Collections.nCopies(Integer.MAX_VALUE, "x");
                case 6 -> new AgentStage.Seen(text(), number(), number());
                default -> AgentStage.Held.values()[random.nextInt(4)];
            };
        }

        private void fail() throws IOException {
            String text = String.valueOf(text());
            switch (random.nextInt(7)) {
                case 0 -> throw new IOException(text);
                case 1 -> throw new IllegalStateException(text, new IOException(text));
                case 2 -> throw new UncheckedIOException(text, new IOException(text));
                case 3 -> throw new StackOverflowError(text);
                case 4 -> throw new NoClassDefFoundError(text);
                case 5 -> throw new OutOfMemoryError(text);
                default -> throw HostileAnswers.<RuntimeException>sneaky(new InterruptedException(text));
            }
        }

        private Object fitting(String verb) {
            return switch (verb) {
                case "Open" -> sandbox();
                case "Look" -> new AgentStage.Seen(random.nextBoolean() ? null : text(), number(), number());
                case "FreezeStage" ->
                    new AgentStage.Freeze(
                            maybeRefusal(),
                            number(),
                            number(),
                            (int) number(),
                            number(),
                            random.nextBoolean(),
                            text(),
                            false);
                case "DumpStage" ->
                    new AgentStage.Dump(maybeRefusal(), number(), number(), number(), imageBytes(), (int) number());
                case "Hold" -> AgentStage.Held.values()[random.nextInt(4)];
                case "ResumeHere", "RestoreStage", "RestoreUnstored" -> restore();
                case "ReadImage" -> image();
                case "Commit" ->
                    new AgentStage.NotKilled(text(), AgentStage.NotKilled.Tree.values()[random.nextInt(3)]);
                case "Rehearsal" -> text();
                default -> any();
            };
        }

        private String text() {
            if (random.nextInt(3) > 0) {
                return TEXTS.get(random.nextInt(TEXTS.size()));
            }
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(2000); i > 0; i--) {
                text.append((char) random.nextInt(0x10000));
            }
            return text.toString();
        }

        private long number() {
            return switch (random.nextInt(6)) {
                case 0 -> Long.MIN_VALUE;
                case 1 -> Long.MAX_VALUE;
                case 2 -> -random.nextInt(1000);
                case 3 -> 0;
                case 4 -> random.nextLong();
                default -> random.nextInt(100_000);
            };
        }

        private long imageBytes() {
            return random.nextBoolean() ? random.nextInt(50_000) : number();
        }

        private byte[] image() {
            int size = random.nextBoolean() ? most : random.nextInt(100_000);
            byte[] image = new byte[size];
            byte[] mark = MARK.getBytes(java.nio.charset.StandardCharsets.US_ASCII);
            System.arraycopy(mark, 0, image, 0, Math.min(mark.length, size));
            return image;
        }

        private AgentStage.Refusal maybeRefusal() {
            return random.nextBoolean() ? null : refusal();
        }

        private AgentStage.Refusal refusal() {
            List<String> lines = random.nextBoolean()
                    ? Collections.nCopies(Integer.MAX_VALUE, text())
                    : Arrays.asList(text(), text());
            return new AgentStage.Refusal(text(), text(), random.nextBoolean(), lines);
        }

        private EnterCommand enter() {
            return random.nextBoolean()
                    ? new EnterCommand.Direct("honest-00000000", 2, "", "/usr/bin/nsenter", "/usr/bin/setsid")
                    : new EnterCommand.BySudo("honest-00000000", "/tmp/sudo", "/tmp/program");
        }

        private AgentStage.Sandbox sandbox() {
            return random.nextBoolean()
                    ? new AgentStage.Sandbox(enter(), null, random.nextBoolean())
                    : AgentStage.Sandbox.refused(String.valueOf(text()));
        }

        private AgentStage.Restore restore() {
            AgentStage.Refusal refusal = maybeRefusal();
            return new AgentStage.Restore(
                    refusal,
                    text(),
                    refusal == null ? enter() : null,
                    number(),
                    number(),
                    (int) number(),
                    Arrays.asList(text(), text()));
        }
    }

    @SuppressWarnings("unchecked")
    private static <X extends Throwable> X sneaky(Throwable thrown) throws X {
        throw (X) thrown;
    }
}
