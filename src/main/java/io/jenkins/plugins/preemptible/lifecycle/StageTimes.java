package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.ExtensionList;
import hudson.XmlFile;
import java.io.File;
import java.io.IOException;
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
 *   <li>The mean gives the newest half of the weight.
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

    private final Map<String, Long> millis = new LinkedHashMap<>();

    public StageTimes() {
        try {
            if (file().exists()) {
                Stored stored = (Stored) file().read();
                for (int i = 0; i < Math.min(stored.stages.length, stored.millis.length); i++) {
                    millis.put(stored.stages[i], stored.millis[i]);
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
        Long mean = millis.get(key(stage));
        return mean == null ? 0 : stage.startedMillis() + stage.withoutExecutorMillis() + mean;
    }

    /** A stage has ended well. */
    public synchronized void ended(StageRecord stage, long nowMillis) {
        long ran = Math.max(1, nowMillis - stage.startedMillis() - stage.withoutExecutorMillis());
        Long before = millis.remove(key(stage));
        millis.put(key(stage), before == null ? ran : (before + ran) / 2);
        while (millis.size() > MOST) {
            millis.remove(millis.keySet().iterator().next());
        }
        Stored stored = new Stored();
        stored.stages = millis.keySet().toArray(new String[0]);
        stored.millis = millis.values().stream().mapToLong(Long::longValue).toArray();
        try {
            file().write(stored);
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot save " + file());
        }
    }

    private static XmlFile file() {
        return new XmlFile(Jenkins.XSTREAM2, new File(Jenkins.get().getRootDir(), "preemptible-times.xml"));
    }

    /** The file's root element. */
    private static final class Stored {
        String[] stages = {};
        long[] millis = {};
    }
}
