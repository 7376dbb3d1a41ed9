package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;

import io.jenkins.plugins.preemptible.acceptance.FolderInPlace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.awaitility.core.ConditionTimeoutException;

/**
 * A controller that moves stages, and three agents as if on hosts of their own.
 *
 * <p>All limits that count in minutes are seconds here, in the same order: an agent counts as lost before a removed one is given up,
 * and before Pipeline gives up waiting for it.
 */
final class MoveRig implements AutoCloseable {

    static final List<String> AGENTS = List.of("A", "B", "C");

    private static final int LOST_SECONDS = 3;
    private static final int REMOVED_SECONDS = 10;
    private static final int PIPELINE_SECONDS = 40;
    /** The step of a host that has restarted ends after one or two of these. */
    private static final int HEARTBEAT_SECONDS = 15;

    private static final Duration START = Duration.ofMinutes(4);
    private static final String OURS = "-Dio.jenkins.plugins.preemptible.";

    final Path folder;
    final ControllerProcess controller;
    private final Map<String, SeparateHost> hosts = new LinkedHashMap<>();
    private final Map<String, AgentProcess> agents = new LinkedHashMap<>();
    private final FolderInPlace place;

    /**
     * @param name no other rig in this process has it
     * @param folder for everything, not below /tmp, where a stage would not see it
     */
    MoveRig(String name, Path folder) throws Throwable {
        this.folder = folder.toRealPath();
        place = new FolderInPlace(this.folder.resolve("root"));
        controller = new ControllerProcess(
                name,
                this.folder,
                OURS + "lost.LostAgents.awayMillis=" + LOST_SECONDS * 1000,
                OURS + "lifecycle.RemovedAgent.graceMillis=" + REMOVED_SECONDS * 1000,
                OURS + "lifecycle.SuspendedSteps.periodMillis=3000",
                // Longer than a step may look for its process, as in production: on an agent that was cleaned it finds
                // none.
                "-Dorg.jenkinsci.plugins.workflow.steps.durable_task.DurableTaskStep.REMOTE_TIMEOUT=3",
                OURS + "move.LeftAgent.delayMillis=4000",
                // A checkpoint every three seconds.
                OURS + "checkpoint.DueCheckpoints.minuteMillis=600",
                "-Dorg.jenkinsci.plugins.workflow.support.pickles.ExecutorPickle.timeoutForNodeMillis="
                        + PIPELINE_SECONDS * 1000,
                "-Dorg.jenkinsci.plugins.durabletask.BourneShellScript.HEARTBEAT_CHECK_INTERVAL=" + HEARTBEAT_SECONDS,
                // A connection over which nothing passes is closed after that.
                "-Djenkins.websocket.pingInterval=2",
                "-Djenkins.websocket.idleTimeout=6");
        try {
            controller.call(MoveJobs::make, root());
            Path jar = this.folder.resolve("agent.jar");
            controller.agentJar(jar);
            for (String agent : AGENTS) {
                SeparateHost host = new SeparateHost(this.folder.resolve("host-" + agent), place, HEARTBEAT_SECONDS);
                hosts.put(agent, host);
                AgentProcess process = new AgentProcess(
                        agent,
                        host.host,
                        new CuttableLink(controller.port()),
                        jar,
                        controller.ask(FaultJobs::secret, agent),
                        log(agent));
                agents.put(agent, process);
                process.start();
            }
            awaitIdle();
        } catch (Throwable x) {
            close();
            throw x;
        }
    }

    /** Root folder of all agents, by the path that they know. */
    String root() {
        return place.at().toString();
    }

    Path log(String agent) {
        return folder.resolve(agent + ".log");
    }

    AgentProcess agent(String name) {
        return agents.get(name);
    }

    SeparateHost host(String name) {
        return hosts.get(name);
    }

    /** Root folders of all agents, by the paths that this process knows. */
    List<Path> folders() {
        return agents.values().stream().map(AgentProcess::folder).toList();
    }

    /** A path that an agent knows, as this process sees it. */
    Path seen(String agent, String path) {
        return agent(agent).folder().resolve(place.at().relativize(Path.of(path)));
    }

    /** All agents are online and have nothing to do. */
    void awaitIdle() {
        try {
            await("the agents are idle")
                    .atMost(START)
                    .pollInterval(Duration.ofMillis(300))
                    .until(() -> {
                        for (String agent : AGENTS) {
                            if (controller.ask(MoveJobs::addAgent, agent, root())) {
                                agent(agent).kill();
                                agent(agent).start();
                            }
                        }
                        return controller.ask(MoveJobs::idle);
                    });
        } catch (ConditionTimeoutException x) {
            throw new AssertionError("the agents are not idle: " + controller.ask(MoveJobs::seen), x);
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        for (String agent : agents.keySet()) {
            agents.get(agent).close();
            hosts.get(agent).reboot();
        }
        controller.close();
        for (SeparateHost host : hosts.values()) {
            host.host.disk().close();
        }
        Files.deleteIfExists(place.at());
    }
}
