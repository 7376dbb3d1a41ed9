package io.jenkins.plugins.preemptible.view;

import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** A moment of about now as a clock shows it, in the controller's time zone. */
public final class ClockTime {

    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

    private ClockTime() {}

    /** @param millis since 1970 */
    public static String of(long millis) {
        return CLOCK.format(Instant.ofEpochMilli(millis).atZone(ZoneId.systemDefault()));
    }
}
