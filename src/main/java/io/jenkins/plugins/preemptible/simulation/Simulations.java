package io.jenkins.plugins.preemptible.simulation;

import hudson.Extension;
import hudson.ExtensionList;
import hudson.model.User;
import hudson.util.DaemonThreadFactory;
import hudson.util.FormValidation;
import hudson.util.NamingThreadFactory;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.config.Range;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;
import jenkins.security.ImpersonatingExecutorService;
import org.springframework.security.core.Authentication;

/**
 * The newest simulations of settings.
 *
 * <ol>
 *   <li>One runs at a time, on a thread of its own.
 *   <li>The newest {@value #MOST} are kept, in memory: a restart of the controller forgets them.
 *   <li>Checks no permission: the pages that start or show a simulation do.
 * </ol>
 *
 * Safe for any thread.
 */
@Extension
public final class Simulations {

    static final int MOST = 20;

    private final Deque<SettingsSimulation> newestFirst = new ArrayDeque<>();
    private final ThreadPoolExecutor thread = new ThreadPoolExecutor(
            1,
            1,
            30,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            new NamingThreadFactory(new DaemonThreadFactory(), "preemptible-simulation"));

    public Simulations() {
        thread.allowCoreThreadTimeOut(true);
    }

    public static Simulations get() {
        return ExtensionList.lookupSingleton(Simulations.class);
    }

    /**
     * Simulates the saved settings.
     *
     * @return empty when another simulation runs
     */
    public Optional<SettingsSimulation> startSaved(int days) {
        return start(days, PreemptibleConfiguration.get());
    }

    /** The same with these settings. */
    synchronized Optional<SettingsSimulation> start(int days, PreemptibleConfiguration used) {
        if (running().isPresent()) {
            return Optional.empty();
        }
        Authentication starter = Jenkins.getAuthentication2();
        User user = User.current();
        SettingsSimulation simulation = new SettingsSimulation(
                user == null ? starter.getName() : user.getDisplayName(), days, PreemptibleConfiguration.get(), used);
        newestFirst.addFirst(simulation);
        while (newestFirst.size() > MOST) {
            newestFirst.removeLast();
        }
        new ImpersonatingExecutorService(thread, starter).execute(simulation::run);
        return Optional.of(simulation);
    }

    /** For administrators: whether so many days can be simulated, as {@link FormValidation} says it to people. */
    public FormValidation checkDays(String typed) {
        return Range.TRIAL_DAYS.check(typed);
    }

    /** The newest first. */
    public synchronized List<SettingsSimulation> all() {
        return List.copyOf(newestFirst);
    }

    public Optional<SettingsSimulation> find(String id) {
        return all().stream().filter(each -> each.getId().equals(id)).findFirst();
    }

    public Optional<SettingsSimulation> running() {
        return all().stream().filter(SettingsSimulation::isRunning).findFirst();
    }

    /** The newest one that has a result and used the settings that were saved when it ran. */
    public Optional<SettingsSimulation> newestOfSavedSettings() {
        return all().stream()
                .filter(each -> each.getResult() != null && each.getChanges().isEmpty())
                .findFirst();
    }

    /** On which they run, one after the other. */
    Executor thread() {
        return thread;
    }
}
