package io.jenkins.plugins.preemptible.acceptance.faults;

import io.jenkins.plugins.preemptible.acceptance.HostProcesses;
import java.io.IOException;
import java.nio.file.Path;

/** Kills the first criu that restores something of one agent's. */
final class CriuKiller {

    private final Path agent;
    private volatile boolean killed;
    private volatile Thread thread;

    CriuKiller(Path agent) {
        this.agent = agent;
    }

    void start() {
        thread = new Thread(this::watch, "criu-killer");
        thread.setDaemon(true);
        thread.start();
    }

    void stop() throws InterruptedException {
        Thread running = thread;
        if (running != null) {
            running.interrupt();
            running.join();
        }
    }

    boolean hasKilled() {
        return killed;
    }

    private void watch() {
        while (!killed && !Thread.currentThread().isInterrupted()) {
            try {
                for (String process : HostProcesses.mentioning(agent.toString())) {
                    if (process.contains("criu") && process.contains(" restore ")) {
                        long pid = Long.parseLong(process.substring(0, process.indexOf(' ')));
                        killed = ProcessHandle.of(pid).map(ProcessHandle::destroyForcibly).orElse(false);
                    }
                }
                Thread.sleep(1);
            } catch (IOException | InterruptedException x) {
                return;
            }
        }
    }
}
