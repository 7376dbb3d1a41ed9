package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ways from the agent's user to root, each tried for real against the installed privileged part; all have to fail.
 *
 * <p>After each one no process of the two users has more rights than its user, and the privileged part still works. The
 * attacker's own program is {@code ways.c}.
 */
abstract class WaysToRoot extends RootsSecret {

    static final String IDLE = "exec >/dev/null 2>&1; exec /bin/sleep 1000";
    static final List<String> LIVING = List.of("status", "freeze", "thaw");

    /** Runs as whoever is tricked into it, and leaves a trace of the rights it had. */
    Path evil;

    Path ways;
    Path library;

    @BeforeAll
    void install() throws Exception {
        secretOn(PrivilegedHost.open());
        Path source = host.base.resolve("ways.c");
        try (InputStream in = WaysToRoot.class.getResourceAsStream("ways.c")) {
            Files.copy(in, source);
        }
        ways = host.base.resolve("ways");
        library = host.base.resolve("ways.so");
        PrivilegedHost.root("cc", "-w", "-O1", "-o", ways.toString(), source.toString(), "-lutil", "-pthread");
        PrivilegedHost.root(
                "cc",
                "-w",
                "-O1",
                "-DLIBRARY",
                "-shared",
                "-fPIC",
                "-o",
                library.toString(),
                source.toString(),
                "-lutil",
                "-pthread");
        evil = script(
                me,
                "evil",
                "cp /bin/sleep " + me.home() + "/pwned-$$; chmod 4755 " + me.home() + "/pwned-$$; cat " + secret + " > "
                        + me.home() + "/loot-$$; echo x > " + roots + "/pwned; exit 77");
        start(me, "mine", IDLE);
        start(other, "theirs", IDLE);
    }

    /** One way; its body asserts that it was refused, or that it gave no more than the user has. */
    interface Way {
        void go() throws Exception;
    }

    /** Adds the ways of this topic, by their names. */
    abstract void collect(Map<String, Way> all);

    /** Fewer ways than that mean that some were lost. */
    abstract int atLeast();

    Stream<Arguments> ways() {
        Map<String, Way> all = new LinkedHashMap<>();
        collect(all);
        assertTrue(all.size() >= atLeast(), () -> "only " + all.size());
        return all.entrySet().stream().map(way -> Arguments.of(way.getKey(), way.getValue()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("ways")
    void aWayToRootIsClosed(String name, Way way) throws Exception {
        way.go();
    }

    @AfterEach
    void nobodyHasMoreRights() throws Exception {
        noProcessHasMoreRights();
        Result entered = enter(me, "mine", "id -u");
        assertEquals(me.uid() + "\n", entered.out(), entered::all);
    }

    private void noProcessHasMoreRights() throws Exception {
        String ours = Files.readSymbolicLink(Path.of("/proc/self/ns/user")).toString();
        for (Proc.Stat each : Proc.all()) {
            until(() -> rights(each.pid(), ours).isEmpty(), () -> rights(each.pid(), ours));
        }
    }

    /** What a process has that it must not; empty for none. The processes of a call that just ended are on their way out. */
    private String rights(long pid, String ours) {
        try {
            List<String> groups = Files.readAllLines(Path.of("/proc", Long.toString(pid), "cgroup"));
            boolean staged = groups.stream()
                    .anyMatch(g -> g.contains("/preemptible-" + me.uid() + "-")
                            || g.contains("/preemptible-" + other.uid() + "-"));
            List<String> ids = Proc.statusWords(pid, "Uid");
            boolean users = ids.contains(Long.toString(me.uid())) || ids.contains(Long.toString(other.uid()));
            if (!staged && !users) {
                return "";
            }
            boolean equal = ids.stream().distinct().count() == 1 && users;
            boolean within = !Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), "ns/user"))
                    .toString()
                    .equals(ours);
            boolean capable = !within
                    && Stream.of("CapInh", "CapPrm", "CapEff", "CapAmb")
                            .anyMatch(c -> Proc.statusWords(pid, c).stream().anyMatch(w -> !w.matches("0+")));
            boolean bound = !staged || Proc.statusWords(pid, "NoNewPrivs").equals(List.of("1"));
            return equal && !capable && bound
                    ? ""
                    : pid + ": " + Files.readString(Path.of("/proc", "" + pid, "status"));
        } catch (IOException e) {
            return "";
        }
    }

    void endOthers() throws IOException {
        for (String id : stages(me)) {
            if (!id.equals("mine")) {
                kill(me, id);
            }
        }
    }
}
