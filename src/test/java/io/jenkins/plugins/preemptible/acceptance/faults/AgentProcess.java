package io.jenkins.plugins.preemptible.acceptance.faults;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** An inbound agent in a process of its own, which reaches its controller by a link that can be cut. */
final class AgentProcess implements AutoCloseable {

    final String name;
    final FullDisk disk;
    final CuttableLink link;
    private final AgentHost host;
    private final List<String> command;
    private final Path output;
    private Process process;

    /**
     * @param jar remoting's agent.jar
     * @param output file that the process's output is appended to
     */
    AgentProcess(String name, AgentHost host, CuttableLink link, Path jar, String secret, Path output) {
        this.name = name;
        this.host = host;
        disk = host.disk();
        this.link = link;
        this.output = output;
        command = new ArrayList<>(host.before());
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                // For a short start.
                "-XX:TieredStopAtLevel=1",
                "-jar",
                jar.toString(),
                "-url",
                "http://localhost:" + link.port() + "/jenkins/",
                "-webSocket",
                "-name",
                name,
                "-secret",
                secret,
                "-workDir",
                host.root().toString(),
                "-noReconnectAfter",
                "1d"));
    }

    /** Where it keeps everything, by the path that this process knows. */
    Path folder() {
        return host.folder();
    }

    void start() throws IOException {
        process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(output.toFile()))
                .start();
    }

    /** By SIGKILL; what it has launched lives on. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor(30, TimeUnit.SECONDS);
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Stops it by SIGSTOP, or continues it by SIGCONT. */
    void signal(int signal) {
        LibC.kill(process.pid(), signal);
    }

    /** A stage that a lost round left behind is ended too. */
    @Override
    public void close() throws IOException, InterruptedException {
        if (process != null) {
            kill();
        }
        link.close();
        for (String home : List.of("preemptible", "preemptible/rehearsal")) {
            Engine engine = Engine.open(folder().resolve(home));
            for (StageStatus left : engine.list()) {
                engine.kill(left.id());
            }
        }
        disk.close();
    }
}
