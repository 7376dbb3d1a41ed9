package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.Computer;
import hudson.model.Node;
import hudson.slaves.ComputerLauncher;
import hudson.slaves.DumbSlave;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
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
    private final FolderInPlace agentFolder;

    private List<String> options = AgentJvm.OPTIONS;

    /** Skips the test, with the reason, where this cannot be had. */
    TwoHosts(JenkinsRule j) throws Exception {
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "mount namespaces are needed");
        this.j = j;
        // Not below /tmp: a stage has one of its own.
        base = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-hosts")
                .toRealPath();
        agentFolder = new FolderInPlace(base.resolve("agent"));
        // Jenkins ends all processes below the one that it has started, and those with its cookie, when it disconnects
        // an agent: the stages would get a signal.
        Files.writeString(
                base.resolve("apart.sh"),
                "exec 3<&0\n( ( exec env -u HUDSON_COOKIE setsid \"$@\" <&3 3<&- ) & )\n"
                        + "exec sleep 1000000 <&- >&- 3<&-\n");
        try (var in = j.jenkins.getJnlpJars("agent.jar").getURL().openStream()) {
            Files.copy(in, base.resolve("agent.jar"), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private TwoHosts(JenkinsRule j, TwoHosts before) {
        this.j = j;
        base = before.base;
        agentFolder = before.agentFolder;
    }

    /** For what is measured: agents that are connected from now on compile as those in use do. */
    void asInUse() {
        options = List.of("-Xmx256m");
    }

    /** The same hosts, after a restart of the controller. */
    TwoHosts of(JenkinsRule again) {
        return new TwoHosts(again, this);
    }

    /** No agent can be started there any more. */
    void switchOff(String host) throws IOException {
        Files.move(base.resolve(host), base.resolve(host + "-off"));
    }

    /** After {@link #switchOff}. */
    void switchOn(String host) throws IOException {
        Files.move(base.resolve(host + "-off"), base.resolve(host));
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
        DumbSlave agent = new DumbSlave(name, root(), launcher(host));
        agent.setNumExecutors(1);
        agent.setLabelString(Rig.LABEL);
        agent.setRetentionStrategy(RetentionStrategy.NOOP);
        j.jenkins.addNode(agent);
        j.waitOnline(agent);
        return agent;
    }

    /** Connects an agent that was disconnected; a launch may end with the connection before it, and is begun anew then. */
    void connectAgain(String name) {
        Computer agent = j.jenkins.getComputer(name);
        await(name + " is back").atMost(Duration.ofMinutes(2)).until(() -> {
            try {
                agent.connect(false).get();
            } catch (ExecutionException x) {
                return false;
            }
            return agent.isOnline();
        });
    }

    /** The root folder of all agents. */
    String root() {
        return base.resolve("agent").toString();
    }

    /** Starts an agent with that host's folder in the place of {@link #root}. */
    ComputerLauncher launcher(String host) throws Exception {
        Path folder = Files.createDirectories(base.resolve(host));
        return new SimpleCommandLauncher(String.join(
                " ",
                "/bin/sh",
                base.resolve("apart.sh").toString(),
                String.join(" ", agentFolder.before(folder)),
                System.getProperty("java.home") + "/bin/java",
                String.join(" ", options),
                "-jar",
                base.resolve("agent.jar").toString()));
    }

    /** Kills the agent's process, as the end of its host does. */
    void kill(String host) throws Exception {
        List<ProcessHandle> processes = ProcessHandle.allProcesses()
                .filter(process -> isAgent(process) && isOf(process, host))
                .toList();
        assertEquals(1, processes.size(), "processes of " + host);
        processes.get(0).destroyForcibly();
    }

    /** Sends a signal to the agent's process. */
    void signal(String host, int signal) {
        ProcessHandle.allProcesses()
                .filter(process -> isAgent(process) && isOf(process, host))
                .forEach(process -> LibC.kill(process.pid(), signal));
    }

    /** Ends the agent's process and all of its stages', frozen or not, as a restart of the host does. */
    void restart(String host) {
        agentFolder.endAll(base.resolve(host));
    }

    /** As {@link #restart}; and what the engine has noted was noted in another boot. */
    void boot(String host) throws IOException {
        restart(host);
        try (Stream<Path> files = Files.walk(base.resolve(host).resolve("preemptible/stages"))) {
            for (Path record : files.filter(file -> file.endsWith("stage.json")).toList()) {
                Files.writeString(
                        record,
                        Files.readString(record).replace(Proc.bootId(), "00000000-0000-0000-0000-000000000000"));
            }
        }
    }

    private boolean isAgent(ProcessHandle process) {
        return process.info()
                .arguments()
                .filter(words ->
                        List.of(words).contains(base.resolve("agent.jar").toString()))
                .filter(words -> List.of(words).contains("-jar"))
                .isPresent();
    }

    /** By what is mounted there: the words that it was started with are gone with the shell. */
    private boolean isOf(ProcessHandle process, String host) {
        return agentFolder.isSeenBy(process.pid(), base.resolve(host));
    }

    /** A job's workspace on an agent, as this process sees it. */
    Path workspace(String host, String job) {
        return base.resolve(host).resolve("workspace").resolve(job);
    }

    /** That an agent has in the place of {@link #root}. */
    Path folder(String host) {
        return base.resolve(host);
    }

    /** The stages that an agent knows. */
    int stages(String host) {
        return Engine.open(base.resolve(host).resolve("preemptible")).list().size();
    }

    /** By which its host is known, once it has described that. */
    String token(String host) throws IOException {
        Path token = base.resolve(host).resolve("preemptible").resolve("host-token");
        await("a token of " + host).atMost(Duration.ofMinutes(2)).until(() -> Files.exists(token));
        return Files.readString(token).trim();
    }

    /** Kills all processes of its stages, as a restart of the host does. */
    void killStages(String host) {
        for (StageStatus stage :
                Engine.open(base.resolve(host).resolve("preemptible")).list()) {
            HostProcess.of(stage.initPid()).ifPresent(init -> LibC.kill(init.pid(), LibC.SIGKILL));
        }
    }

    @Override
    public void close() throws Exception {
        for (Node node : j.jenkins.getNodes()) {
            j.jenkins.removeNode(node);
        }
        delete();
    }

    void delete() {
        // An agent's process that is about to end may write there still.
        await("the hosts are gone")
                .atMost(Duration.ofMinutes(2))
                .ignoreExceptions()
                .until(() -> {
                    StageFolder.delete(base);
                    return true;
                });
    }
}
