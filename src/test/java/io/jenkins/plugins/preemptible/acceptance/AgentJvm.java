package io.jenkins.plugins.preemptible.acceptance;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.EnvVars;
import hudson.slaves.ComputerLauncher;
import hudson.slaves.DumbSlave;
import hudson.slaves.RetentionStrategy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.SimpleCommandLauncher;

/**
 * Processes of agents that live for seconds: what such a JVM verifies, what it compiles a second time, and its collector's threads
 * took more of the processors than all that is tested.
 */
final class AgentJvm {

    /** Of the JVM. */
    static final List<String> OPTIONS = List.of(
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote");

    private AgentJvm() {}

    /** @param environment added to the process's own; null for nothing */
    static ComputerLauncher launcher(JenkinsRule j, @CheckForNull EnvVars environment) throws Exception {
        Path jar = Path.of(j.jenkins.getJnlpJars("agent.jar").getURL().toURI());
        List<String> command = new ArrayList<>();
        if (environment != null) {
            command.add("/usr/bin/env");
            environment.forEach((name, value) -> command.add(quoted(name + "=" + value)));
        }
        command.addAll(List.of(quoted(System.getProperty("java.home") + "/bin/java"), "-Djava.awt.headless=true"));
        command.addAll(OPTIONS);
        command.addAll(List.of("-jar", quoted(jar.toString())));
        return new SimpleCommandLauncher(String.join(" ", command));
    }

    private static String quoted(String word) {
        return '"' + word + '"';
    }

    /** As {@link JenkinsRule#createSlave(String, String, EnvVars)}: added, and on its way. */
    static DumbSlave add(JenkinsRule j, String name, String label, @CheckForNull EnvVars environment) throws Exception {
        Path root = j.jenkins.getRootDir().toPath().resolve("agent-work-dirs").resolve(name);
        DumbSlave agent = new DumbSlave(name, root.toString(), launcher(j, environment));
        agent.setLabelString(label);
        agent.setRetentionStrategy(RetentionStrategy.NOOP);
        j.jenkins.addNode(agent);
        return agent;
    }
}
