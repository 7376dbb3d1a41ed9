package io.jenkins.plugins.preemptible.acceptance.faults;

import io.jenkins.plugins.preemptible.acceptance.HostProcesses;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;

/** Kills the first criu that dumps or restores something of one agent's. */
final class CriuKiller {

    private final Path agent;
    private final Supplier<String> state;
    private volatile String stateAtKill;
    private volatile Thread thread;

    /** @param state asked just before the kill */
    CriuKiller(Path agent, Supplier<String> state) {
        this.agent = agent;
        this.state = state;
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

    /** Empty as long as none was killed. */
    Optional<String> stateAtKill() {
        return Optional.ofNullable(stateAtKill);
    }

    private void watch() {
        while (stateAtKill == null && !Thread.currentThread().isInterrupted()) {
            try {
                for (String process : HostProcesses.mentioning(agent.toString())) {
                    if (process.contains("criu") && (process.contains(" restore ") || process.contains(" dump "))) {
                        long pid = Long.parseLong(process.substring(0, process.indexOf(' ')));
                        String now = state.get();
                        if (ProcessHandle.of(pid)
                                .map(ProcessHandle::destroyForcibly)
                                .orElse(false)) {
                            stateAtKill = now;
                        }
                    }
                }
                Thread.sleep(5);
            } catch (IOException | InterruptedException x) {
                return;
            }
        }
    }
}
