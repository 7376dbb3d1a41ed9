package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A controller and two agents, each in a process of its own that can be killed and started again. */
final class FaultRig implements AutoCloseable {

    static final List<String> AGENTS = List.of("first", "second");

    private static final Duration START = Duration.ofMinutes(5);

    final Path folder;
    final ControllerProcess controller;
    final List<AgentProcess> agents = new ArrayList<>();

    /** @param folder for everything, not below /tmp, where a stage would not see it */
    FaultRig(Path folder) throws Throwable {
        this.folder = folder;
        controller = new ControllerProcess(
                "controller",
                folder,
                // A cut may last longer than the five minutes that Pipeline waits for an agent.
                "-Dorg.jenkinsci.plugins.workflow.support.pickles.ExecutorPickle.timeoutForNodeMillis="
                        + TimeUnit.MINUTES.toMillis(20));
        try {
            Path jar = folder.resolve("agent.jar");
            controller.agentJar(jar);
            for (String name : AGENTS) {
                AgentHost host = AgentHost.here(new FullDisk(folder.resolve(name), "400m"));
                controller.call(FaultJobs::make, name, host.root().toString());
                String secret = controller.ask(FaultJobs::secret, name);
                CuttableLink link = new CuttableLink(controller.port());
                AgentProcess agent = new AgentProcess(name, host, link, jar, secret, folder.resolve(name + ".log"));
                agents.add(agent);
                agent.start();
            }
            awaitOnline();
        } catch (Throwable x) {
            close();
            throw x;
        }
    }

    void awaitOnline() {
        for (String agent : AGENTS) {
            await(agent + " is online")
                    .atMost(START)
                    .pollInterval(Duration.ofMillis(600))
                    .until(() -> controller.ask(FaultJobs::online, agent));
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        for (AgentProcess agent : agents) {
            agent.close();
        }
        controller.close();
    }
}
