package io.jenkins.plugins.preemptible.engine;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.logging.LogManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An agent whose process is in a container, as in a pod of Kubernetes: what its rights there allow is done, and what they do not
 * is said. Its container is made of namespaces, a bounding set and bind mounts.
 */
@Tag("host")
class PodTest {

    /** Those of Docker and containerd without further settings. */
    private static final String DEFAULT_RIGHTS =
            "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap"
                    + ",+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap";

    private static final String CONTAINER = String.join(
            "\n",
            "mount -t proc proc /proc || exit 1",
            "if [ \"$1\" = ro ]; then",
            "  awk '$5 ~ \"^/sys/fs/cgroup\" { print $5 }' /proc/self/mountinfo | while read -r m; do",
            "    mount -o remount,ro,bind \"$m\" || exit 1",
            "  done || exit 1",
            "fi",
            // The pod's user may not read the folders of this one.
            "folder=$2 n=0; shift 2; classes=",
            "while [ \"$1\" != -- ]; do",
            "  n=$((n+1)); to=$folder/$n; if [ -d \"$1\" ]; then mkdir $to; else : > $to; fi",
            "  mount --bind \"$1\" $to || exit 1",
            "  classes=$classes:$to; shift",
            "done",
            "shift; export CLASSPATH=$classes; exec setpriv \"$@\"");

    private Path pod;

    @BeforeEach
    void make() throws Exception {
        assumeTrue(HostProcess.isRoot(), "only root can make a container");
        for (String tool : List.of("unshare", "setpriv", "awk")) {
            assumeTrue(HostTool.find(tool).isPresent(), "there is no " + tool + " on this host");
        }
        pod = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-pod").toRealPath();
        Files.createDirectory(pod.resolve("home"));
        for (String command : List.of("chmod 755 " + pod, "chmod 777 " + pod.resolve("home"))) {
            assertTrue(HostTool.run(10, List.of(command.split(" "))).ok(), command);
        }
    }

    @AfterEach
    void remove() throws Exception {
        if (pod != null) {
            StageFolder.delete(pod);
        }
    }

    /** What the agent says in a container with such control groups and rights. */
    private String agent(String controlGroups, String... rights) {
        List<String> command = new ArrayList<>(List.of(
                "unshare",
                "--mount",
                "--pid",
                "--ipc",
                "--cgroup",
                "--fork",
                "--kill-child",
                "--propagation",
                "private",
                "/bin/sh",
                "-c",
                CONTAINER,
                "container",
                controlGroups,
                pod.toString()));
        Arrays.stream(System.getProperty("java.class.path").split(":"))
                .filter(each -> Files.exists(Path.of(each)))
                .forEach(command::add);
        command.add("--");
        command.addAll(List.of(rights));
        command.addAll(JavaCommand.words(
                "-DPREEMPTIBLE_CHECKPOINTS=off",
                "-XX:+UseSerialGC",
                Agent.class.getName(),
                pod.resolve("home").toString()));
        return HostTool.run(60, command).text();
    }

    @ParameterizedTest
    @ValueSource(strings = {"ro", "rw"})
    void withoutRightsNothingIsSuspendedAndTheReasonIsSaid(String controlGroups) {
        String said = agent(controlGroups, "--no-new-privs", "--bounding-set", DEFAULT_RIGHTS);
        assertThat(said, containsString("namespaces"));
        assertThat(said, containsString("CAP_SYS_ADMIN"));
        assertThat(said, containsString("securityContext"));
        assertThat(said, containsString("not started: The stage's namespaces could not be set up"));
        assertThat(said, not(containsString("counts")));
    }

    @Test
    void aUserIsToldTheSame() {
        String said = agent(
                "ro",
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                "--no-new-privs",
                "--bounding-set",
                DEFAULT_RIGHTS);
        assertThat(said, containsString("rights"));
        assertThat(said, containsString("no privileged part is installed"));
        assertThat(said, containsString("not started: "));
        assertThat(said, not(containsString("counts")));
    }

    /** A privileged pod without CRIU; its control groups may be read-only all the same. */
    @ParameterizedTest
    @ValueSource(strings = {"ro", "rw"})
    void withRightsAStageIsFrozenByWhatThereIs(String controlGroups) {
        String said = agent(controlGroups, "--no-new-privs");
        assertEquals(
                List.of(
                        "can suspend stages, " + (controlGroups.equals("ro") ? "stop signals only" : "cgroup"),
                        "counts",
                        "stands still in memory only: true",
                        "counts again",
                        "ended: 0"),
                said.lines()
                        .map(line -> line.replaceFirst("cgroup v[12]", "cgroup"))
                        .toList());
    }

    /** The process of an agent in a container. */
    static final class Agent {
        private static final Duration SOON = Duration.ofSeconds(20);

        public static void main(String[] words) throws Exception {
            LogManager.getLogManager().reset();
            Path home = Path.of(words[0]);
            Engine engine = Engine.open(home.resolve("preemptible"));
            HostReport report = engine.check();
            if (report.ok()) {
                System.out.println("can suspend stages, "
                        + report.items().stream()
                                .filter(item -> item.name().equals("freezer"))
                                .findFirst()
                                .orElseThrow()
                                .detail());
            } else {
                report.items().forEach(item -> System.out.println(item + ", " + item.remedy()));
            }
            Path work = Files.createDirectory(home.resolve("work"));
            StageId id = StageId.create("pod");
            try {
                engine.start(new StageSpec(
                        id,
                        "pod",
                        work,
                        List.of("/bin/sh", "-c", "while [ ! -e enough ]; do echo more; sleep 0.02; done"),
                        null));
            } catch (RuntimeException x) {
                System.out.println("not started: " + x.getMessage());
                return;
            }
            Path output = engine.status(id).output();
            counts(output);
            System.out.println("counts");
            boolean inMemory =
                    engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0)).memoryOnly();
            long before = StageBench.lines(output);
            Thread.sleep(200);
            if (before == StageBench.lines(output)) {
                System.out.println("stands still in memory only: " + inMemory);
            }
            engine.resumeHere(id).orElseThrow();
            counts(output);
            System.out.println("counts again");
            Files.createFile(work.resolve("enough"));
            System.out.println("ended: " + engine.await(id));
        }

        private static void counts(Path output) {
            long before = StageBench.lines(output);
            StageBench.until("output", SOON, () -> StageBench.lines(output) > before + 3);
        }
    }
}
