package io.jenkins.plugins.preemptible.acceptance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.Node;
import hudson.slaves.DumbSlave;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.SimpleCommandLauncher;

/**
 * Agents that have one root folder by its path, each another one in truth: as if they were on hosts of their own.
 *
 * <p>Each agent's process has a mount namespace, in which its folder is bound to the path of all.
 */
final class TwoHosts implements AutoCloseable {

    private final JenkinsRule j;
    private final Path base;

    /** Skips the test, with the reason, where this cannot be had. */
    TwoHosts(JenkinsRule j) throws Exception {
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "mount namespaces are needed");
        this.j = j;
        // Not below /tmp: a stage has one of its own.
        base = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-hosts")
                .toRealPath();
        Files.createDirectory(base.resolve("agent"));
        Files.writeString(
                base.resolve("start.sh"),
                "mount --bind '" + base + "'/\"$1\" '" + base.resolve("agent") + "' || exit 1\nshift\nexec \"$@\"\n");
        try (var in = j.jenkins.getJnlpJars("agent.jar").getURL().openStream()) {
            Files.copy(in, base.resolve("agent.jar"), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    DumbSlave connect(String name) throws Exception {
        return connect(name, name);
    }

    /**
     * Adds an agent of one executor with the label of all tests and waits until it is online.
     *
     * @param host whose folder it has
     */
    DumbSlave connect(String name, String host) throws Exception {
        Files.createDirectories(base.resolve(host));
        String command = String.join(
                " ",
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "/bin/sh",
                base.resolve("start.sh").toString(),
                host,
                System.getProperty("java.home") + "/bin/java",
                "-Xmx256m",
                "-jar",
                base.resolve("agent.jar").toString());
        DumbSlave agent = new DumbSlave(name, base.resolve("agent").toString(), new SimpleCommandLauncher(command));
        agent.setNumExecutors(1);
        agent.setLabelString(Rig.LABEL);
        agent.setRetentionStrategy(RetentionStrategy.NOOP);
        j.jenkins.addNode(agent);
        j.waitOnline(agent);
        return agent;
    }

    /** A job's workspace on an agent, as this process sees it. */
    Path workspace(String host, String job) {
        return base.resolve(host).resolve("workspace").resolve(job);
    }

    /** The stages that an agent knows. */
    int stages(String host) {
        return Engine.open(base.resolve(host).resolve("preemptible")).list().size();
    }

    @Override
    public void close() throws Exception {
        for (Node node : j.jenkins.getNodes()) {
            j.jenkins.removeNode(node);
        }
        StageFolder.delete(base);
    }
}
