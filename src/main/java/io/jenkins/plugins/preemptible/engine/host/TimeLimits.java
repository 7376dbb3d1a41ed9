package io.jenkins.plugins.preemptible.engine.host;

import java.time.Duration;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Limits of time for what usually takes milliseconds or seconds, made longer on a host that an administrator calls slow.
 *
 * <ol>
 *   <li>{@link #FACTOR} in the environment of the engine's own process, or as a system property, multiplies each limit:
 *       a whole number from 1, the default, to {@value #MOST}. Emulated machines need 10 to 30.
 *   <li>Anything else is told in the log, and counts as 1.
 *   <li>Only waiting becomes longer: what is in time is as fast as without. The demo's work lasts longer, too.
 * </ol>
 *
 * Read once, when this class is loaded. Limits of half an hour, which only end what hangs, stay as they are.
 */
public final class TimeLimits {

    /** The setting's name. */
    public static final String FACTOR = "PREEMPTIBLE_TIME_FACTOR";

    static final int MOST = 100;

    private static final Logger LOG = Logger.getLogger(TimeLimits.class.getName());
    private static final int HERE = factor(System.getenv(), System.getProperty(FACTOR));

    private TimeLimits() {}

    /** The limit that holds on this host for one that suits a usual host. */
    public static Duration of(Duration usual) {
        return usual.multipliedBy(HERE);
    }

    /**
     * What is set.
     *
     * @param property comes before the environment; null for none
     */
    static int factor(Map<String, String> environment, String property) {
        String set = property == null ? environment.getOrDefault(FACTOR, "") : property;
        if (set.isEmpty()) {
            return 1;
        }
        try {
            int factor = Integer.parseInt(set);
            if (factor >= 1 && factor <= MOST) {
                return factor;
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        LOG.log(Level.WARNING, "{0} is ''{1}''; it takes a whole number from 1 to {2}, and counts as 1", new Object[] {
            FACTOR, set, MOST
        });
        return 1;
    }
}
