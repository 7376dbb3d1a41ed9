package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.Extension;
import hudson.ExtensionList;
import hudson.XmlFile;
import hudson.util.XStream2;
import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;

/**
 * How long stages ran, by job and name, so that it can be told when one will end.
 *
 * <ol>
 *   <li>Each stage that ended well adds the time for which it had an executor; suspensions do not count.
 *   <li>Three runs that took about the same tell how long the next one will take; others tell nothing.
 *   <li>Kept in {@code preemptible-times.xml}; of more than {@value #MOST} stages the ones that ended longest ago are
 *       forgotten.
 * </ol>
 *
 * Safe for any thread.
 */
@Extension
public final class StageTimes {

    private static final Logger LOGGER = Logger.getLogger(StageTimes.class.getName());
    private static final int MOST = 1_000;
    private static final int RUNS = 3;
    /** The longest and the shortest run differ by no more than this part of the longest. */
    private static final double ALIKE = 0.2;

    /** Names the class as every version has done: what is written here can be read by the version before. */
    private static final XStream2 XSTREAM = new XStream2();

    static {
        XSTREAM.alias("io.jenkins.plugins.preemptible.lifecycle.StageTimes$Stored", Stored.class);
    }

    /** The newest runs of each stage. */
    private final Map<String, long[]> runs = new LinkedHashMap<>();

    public StageTimes() {
        try {
            if (file().exists()) {
                Stored stored = (Stored) file().read();
                for (int i = 0; i < Math.min(stored.stages.length, stored.runs.length); i++) {
                    runs.put(stored.stages[i], stored.runs[i]);
                }
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot read " + file() + "; how long stages ran is learnt anew");
        }
    }

    public static StageTimes get() {
        return ExtensionList.lookupSingleton(StageTimes.class);
    }

    private static String key(StageRecord stage) {
        return stage.job() + "/" + stage.name();
    }

    /** When a running stage will end, in milliseconds since 1970; 0 = nobody knows. */
    public synchronized long expectedEndMillis(StageRecord stage) {
        long[] known = runs.get(key(stage));
        if (known == null || known.length < RUNS) {
            return 0;
        }
        long[] sorted = known.clone();
        Arrays.sort(sorted);
        boolean alike = sorted[RUNS - 1] - sorted[0] <= ALIKE * sorted[RUNS - 1];
        return alike ? stage.startedMillis() + stage.withoutExecutorMillis() + sorted[RUNS / 2] : 0;
    }

    /** A stage has ended well. */
    public synchronized void ended(StageRecord stage, long nowMillis) {
        long ran = Math.max(1, nowMillis - stage.startedMillis() - stage.withoutExecutorMillis());
        long[] before = runs.remove(key(stage));
        int kept = before == null ? 0 : Math.min(before.length, RUNS - 1);
        long[] now = new long[kept + 1];
        now[0] = ran;
        if (before != null) {
            System.arraycopy(before, 0, now, 1, kept);
        }
        runs.put(key(stage), now);
        while (runs.size() > MOST) {
            runs.remove(runs.keySet().iterator().next());
        }
        Stored stored = new Stored();
        stored.stages = runs.keySet().toArray(new String[0]);
        stored.runs = runs.values().toArray(new long[0][]);
        try {
            file().write(stored);
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot save " + file());
        }
    }

    private static XmlFile file() {
        return new XmlFile(XSTREAM, new File(Jenkins.get().getRootDir(), "preemptible-times.xml"));
    }

    /** The file's root element. */
    private static final class Stored {
        String[] stages = {};
        long[][] runs = {};
    }
}
