package io.jenkins.plugins.preemptible.history;

import hudson.Extension;
import hudson.ExtensionList;
import hudson.XmlFile;
import hudson.init.Terminator;
import io.jenkins.plugins.preemptible.event.PreemptorStarted;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import java.io.File;
import java.io.IOException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import jenkins.util.Timer;

/**
 * Counts what happens to stages, day by day.
 *
 * <ol>
 *   <li>The newest {@value #MOST_DAYS} days are kept, in {@code preemptible-statistics.xml}.
 *   <li>That is written {@value #SAVE_MILLIS} ms after a change, and when the controller stops: a crash loses so much.
 * </ol>
 *
 * Safe for any thread.
 */
@Extension
public final class DailyStatistics implements StageListener {

    private static final Logger LOGGER = Logger.getLogger(DailyStatistics.class.getName());
    private static final int MOST_DAYS = 92;
    private static final long SAVE_MILLIS = 10_000;

    private final TreeMap<String, DayCounts> days = new TreeMap<>();
    /** Of the Jenkins that this belongs to, also when it is written late. */
    private final XmlFile file =
            new XmlFile(Jenkins.XSTREAM2, new File(Jenkins.get().getRootDir(), "preemptible-statistics.xml"));

    private boolean saving;

    public DailyStatistics() {
        try {
            if (file.exists()) {
                for (DayCounts day : ((Stored) file.read()).days) {
                    days.put(day.day, day);
                }
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot read " + file + "; days are counted anew");
        }
    }

    public static DailyStatistics get() {
        return ExtensionList.lookupSingleton(DailyStatistics.class);
    }

    private synchronized void count(Consumer<DayCounts> change) {
        change.accept(days.computeIfAbsent(LocalDate.now().toString(), DayCounts::new));
        while (days.size() > MOST_DAYS) {
            days.pollFirstEntry();
        }
        if (!saving) {
            saving = true;
            Timer.get().schedule(this::save, SAVE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void onSuspended(StageSuspended event) {
        count(day -> {
            day.suspensions++;
            day.costMillis += event.tookMillis();
        });
    }

    @Override
    public void onSealed(StageSealed event) {
        count(day -> {
            day.sealed++;
            day.sealedBytes += event.archiveBytes();
        });
    }

    @Override
    public void onResumed(StageResumed event) {
        count(day -> {
            day.resumed++;
            day.suspendedMillis += event.suspendedMillis();
            day.costMillis += event.tookMillis();
        });
    }

    @Override
    public void onRefused(StageRefused event) {
        count(day -> day.refused(event));
    }

    @Override
    public void onEnded(StageEnded event) {
        if (event.whileSuspended()) {
            count(day -> day.endedWhileSuspended++);
        }
    }

    @Override
    public void onPreemptorStarted(PreemptorStarted event) {
        count(day -> {
            day.preemptors++;
            day.preemptorsWaitedMillis += Math.max(0, event.waitedMillis());
        });
    }

    /** Days on which something happened, the newest first. @param most how many days back, 1 or more */
    public synchronized List<DayCounts> days(int most) {
        String first = LocalDate.now().minusDays(most - 1L).toString();
        List<DayCounts> newest = new ArrayList<>();
        for (DayCounts day : days.tailMap(first, true).descendingMap().values()) {
            newest.add(day.copy());
        }
        return newest;
    }

    /** All of the last days as one. @param most as above */
    public DayCounts sum(int most) {
        DayCounts sum = new DayCounts(LocalDate.now().minusDays(most - 1L).toString());
        days(most).forEach(sum::add);
        return sum;
    }

    /** When the controller stops. */
    @Terminator
    public static void saveAtTheEnd() {
        get().save();
    }

    private synchronized void save() {
        saving = false;
        Stored stored = new Stored();
        stored.days = days.values().stream().map(DayCounts::copy).toArray(DayCounts[]::new);
        try {
            file.write(stored);
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot save " + file);
        }
    }

    /** The file's root element. */
    private static final class Stored {
        DayCounts[] days = {};
    }
}
