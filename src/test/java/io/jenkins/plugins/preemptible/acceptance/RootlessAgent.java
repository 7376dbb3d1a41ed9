package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.Job;
import hudson.slaves.DumbSlave;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.SimpleCommandLauncher;

/**
 * An agent "worker" whose process runs as a user who exists during the tests only, with the privileged part really
 * installed for that user.
 *
 * <ol>
 *   <li>{@link #inMemory} and {@link #withCheckpoints} install one of the two levels; {@link #connect} makes the agent.
 *   <li>Program, store, rule and user have names of their own, so that what is in use on this machine is left alone.
 *   <li>{@link #close} ends what the user runs and removes all of it.
 * </ol>
 */
final class RootlessAgent implements AutoCloseable {

    final String user;
    private final Path base;
    private final Path home;
    private final PrivilegedInstall place;

    private RootlessAgent(Path criu) throws Exception {
        String mark = UUID.randomUUID().toString().substring(0, 8);
        user = "pt" + mark;
        base = Files.createDirectory(
                Path.of("/var/lib/preemptible-test-" + mark),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        place = new PrivilegedInstall(
                base.resolve("libexec/preemptible"),
                base.resolve("store"),
                Path.of("/etc/sudoers.d/preemptible-test-" + mark));
        home = Files.createDirectory(base.resolve("home"));
        root("useradd", "-r", "-M", "-d", home.toString(), "-s", "/bin/sh", user);
        root("chown", user + ":", home.toString());
        place.install(user, List.of(), criu);
    }

    /** Skips the test, with the reason, where this cannot be had. */
    static RootlessAgent inMemory() throws Exception {
        assumeInstallable();
        return new RootlessAgent(null);
    }

    /** As {@link #inMemory}, for the level that makes checkpoints. */
    static RootlessAgent withCheckpoints() throws Exception {
        assumeInstallable();
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        return new RootlessAgent(criu.get().program());
    }

    private static void assumeInstallable() {
        assumeTrue(HostProcess.isRoot(), "only root can install the privileged part");
        for (String tool : List.of("sudo", "visudo", "useradd", "userdel", "setpriv", "cc", "chown")) {
            assumeTrue(HostTool.find(tool).isPresent(), "there is no " + tool + " on this host");
        }
    }

    /** Adds the agent, of one executor, and waits until it is online. */
    DumbSlave connect(JenkinsRule j) throws Exception {
        Path jar = base.resolve("agent.jar");
        try (var in = j.jenkins.getJnlpJars("agent.jar").getURL().openStream()) {
            Files.copy(in, jar, StandardCopyOption.REPLACE_EXISTING);
        }
        String command = String.join(
                " ",
                tool("setpriv"),
                "--reuid",
                user,
                "--regid",
                user,
                "--init-groups",
                "--inh-caps=-all",
                tool("env"),
                "HOME=" + home,
                "PREEMPTIBLE_PRIVILEGED=" + place.program(),
                System.getProperty("java.home") + "/bin/java",
                String.join(" ", AgentJvm.OPTIONS),
                "-jar",
                jar.toString());
        DumbSlave worker =
                new DumbSlave("worker", home.resolve("agent").toString(), new SimpleCommandLauncher(command));
        worker.setNumExecutors(1);
        worker.setLabelString(Rig.LABEL);
        worker.setRetentionStrategy(RetentionStrategy.NOOP);
        new Rig(j).prepare();
        j.jenkins.addNode(worker);
        j.waitOnline(worker);
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        return worker;
    }

    Path program() {
        return place.program();
    }

    /** The folder in which the agent's engine keeps a stage. */
    Path stage(String id) {
        return home.resolve("agent/preemptible/stages").resolve(id);
    }

    /** Takes sudo's rule away until that is closed: the privileged part does not answer meanwhile. */
    AutoCloseable withoutRule() throws IOException {
        Path aside = base.resolve("rule-aside");
        Files.move(place.rule(), aside);
        return () -> Files.move(aside, place.rule());
    }

    /** Waits until the agent's rehearsal is over: what is left of one that is cut off goes with the next one only. */
    void awaitRehearsed() {
        Path stages = home.resolve("agent/preemptible/rehearsal/stages");
        await("the rehearsal is over")
                .atMost(Rig.PATIENCE)
                .until(() -> Files.isDirectory(stages)
                        && entries(stages, 1).isEmpty()
                        && entries(place.store(), 2).stream()
                                .noneMatch(
                                        stage -> stage.getFileName().toString().startsWith("rehearsal-")));
    }

    /** The command lines of all processes of the user. */
    String processes() {
        return HostTool.run(20, List.of(tool("ps"), "-u", user, "-o", "args")).text();
    }

    /** Waits until nothing of any stage is left: no process, group, mount, image, record of the user's or of root's. */
    void awaitNothingLeft(DumbSlave agent, Job<?, ?> job) {
        // First: root's own engine must not look at a stage of the user's.
        await("no record of a stage is left").atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(List.of(), entries(stage("any").getParent(), 1));
            assertEquals(List.of(), entries(place.store(), 2));
        });
        Rig.assertNothingLeft(agent, job);
    }

    private static List<Path> entries(Path folder, int depth) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (var all = Files.walk(folder, depth)) {
            return all.filter(p -> p.getNameCount() == folder.getNameCount() + depth)
                    .toList();
        }
    }

    @Override
    public void close() throws Exception {
        HostTool.run(20, List.of(tool("pkill"), "-9", "-u", user));
        place.remove();
        // Refused as long as the kernel ends the last of the user's processes.
        await("the user is removed")
                .atMost(Rig.PATIENCE)
                .until(() -> HostTool.run(60, List.of(tool("userdel"), user)).ok());
        StageFolder.delete(base);
    }

    private static String tool(String name) {
        return HostTool.find(name).map(Path::toString).orElse(name);
    }

    private static void root(String name, String... arguments) {
        List<String> words = new ArrayList<>(List.of(tool(name)));
        words.addAll(List.of(arguments));
        HostTool.Answer answer = HostTool.run(60, words);
        assertTrue(answer.ok(), answer::text);
    }
}
