package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Item;
import hudson.model.ItemGroup;
import hudson.model.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The defaults for the preemptible stages of one job, in the order in which they count.
 *
 * <ol>
 *   <li>Those of the job itself, of its folders from the inside out, of the system configuration.
 *   <li>Each setting is taken from the first that has it; the others of that one need not count.
 * </ol>
 *
 * Any thread; looks at items in memory only.
 */
public final class DefaultsInOrder {

    /** Where folders have defaults; there is one only where the Folders plugin is installed. */
    public abstract static class OfFolder implements ExtensionPoint {
        /** What this folder sets itself; null when it sets nothing. */
        @CheckForNull
        protected abstract StageDefaults setBy(ItemGroup<?> folder);
    }

    /**
     * A setting that counts for a stage.
     *
     * @param value null = nobody says it
     * @param where where it is to be corrected, within a sentence
     * @param byDefault whether it is not the step that says it
     */
    public record Asked<T>(@CheckForNull T value, String where, boolean byDefault) {}

    private record Level(StageDefaults defaults, String where) {}

    private final List<Level> levels = new ArrayList<>();

    @CheckForNull
    private final String name;

    private DefaultsInOrder(Job<?, ?> job) {
        JobDefaults own = job.getProperty(JobDefaults.class);
        name = own == null ? null : own.getName();
        add(own == null ? null : own.defaults(), "the defaults of the job '" + job.getFullName() + "'");
        for (ItemGroup<?> group = job.getParent(); group instanceof Item; group = ((Item) group).getParent()) {
            for (OfFolder folders : ExtensionList.lookup(OfFolder.class)) {
                add(folders.setBy(group), "the defaults of the folder '" + group.getFullName() + "'");
            }
        }
        add(PreemptibleConfiguration.get().getStageDefaults(), "the defaults of the system configuration");
    }

    /** Those that count for the job's stages now. */
    public static DefaultsInOrder of(Job<?, ?> job) {
        return new DefaultsInOrder(job);
    }

    private void add(@CheckForNull StageDefaults defaults, String where) {
        if (defaults != null) {
            levels.add(new Level(defaults, where));
        }
    }

    /** What the job calls all stages whose step gives no name; null when it does not. */
    @CheckForNull
    public String name() {
        return name;
    }

    /**
     * What counts of one setting.
     *
     * @param said what the step says; null when it says nothing
     */
    public <T> Asked<T> asked(@CheckForNull T said, Function<StageDefaults, T> setting) {
        if (said == null) {
            for (Level level : levels) {
                T set = setting.apply(level.defaults);
                if (set != null) {
                    return new Asked<>(set, level.where, true);
                }
            }
        }
        return new Asked<>(said, "the Jenkinsfile", false);
    }
}
