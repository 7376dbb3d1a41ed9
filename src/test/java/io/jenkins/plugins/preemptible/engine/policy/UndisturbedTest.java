package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UndisturbedTest {

    private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

    private static boolean protects(String from, String to, ZoneId zone, String at) {
        long now = OffsetDateTime.parse(at).toInstant().toEpochMilli();
        return new Undisturbed(LocalTime.parse(from), LocalTime.parse(to), zone, 0).protects(now, now);
    }

    @ParameterizedTest
    @CsvSource({"08:59:59,false", "09:00:00,true", "16:59:59,true", "17:00:00,false"})
    void fromTheFirstHourOnAndBeforeTheLast(String time, boolean expected) {
        assertEquals(expected, protects("09:00", "17:00", ZoneOffset.UTC, "2026-11-22T" + time + "Z"));
    }

    @ParameterizedTest
    @CsvSource({"21:59:59,false", "22:00:00,true", "23:59:59,true", "00:00:00,true", "05:59:59,true", "06:00:00,false"})
    void itMayGoOverMidnight(String time, boolean expected) {
        assertEquals(expected, protects("22:00", "06:00", ZoneOffset.UTC, "2026-11-22T" + time + "Z"));
    }

    @ParameterizedTest
    @CsvSource({"00:00:00", "11:59:59", "12:00:00", "23:59:59"})
    void theSameHourTwiceIsTheWholeDay(String time) {
        assertTrue(protects("12:00", "12:00", ZoneOffset.UTC, "2026-11-22T" + time + "Z"));
    }

    @ParameterizedTest
    @CsvSource({
        // Winter, summer.
        "2026-01-15T07:59:00Z,false", "2026-01-15T08:00:00Z,true",
        "2026-07-15T06:59:00Z,false", "2026-07-15T07:00:00Z,true",
        // The morning on which the clocks went forward at 2:00, and the one on which they went back at 3:00.
        "2026-03-29T06:59:00Z,false", "2026-03-29T07:00:00Z,true",
        "2026-10-25T07:59:00Z,false", "2026-10-25T08:00:00Z,true"
    })
    void theClocksOfTheZoneCount(String at, boolean expected) {
        assertEquals(expected, protects("09:00", "17:00", BERLIN, at));
    }

    @ParameterizedTest
    @CsvSource({
        // 2:30 does not exist: from 3:00 on the clocks show a later time.
        "2026-03-29T00:59:00Z,false",
        "2026-03-29T01:00:00Z,true",
        // It exists twice, with 2:15 between: the clocks show it so.
        "2026-10-25T00:30:00Z,true",
        "2026-10-25T01:15:00Z,false",
        "2026-10-25T01:30:00Z,true"
    })
    void anHourThatTheClocksSkipOrShowTwice(String at, boolean expected) {
        assertEquals(expected, protects("02:30", "04:00", BERLIN, at));
    }

    @Test
    void onlyLongStagesAreLeftAlone() {
        Undisturbed always = new Undisturbed(LocalTime.NOON, LocalTime.NOON, ZoneOffset.UTC, 1000);
        assertFalse(always.protects(5000, 5999));
        assertTrue(always.protects(5000, 6000));
    }

    @Test
    void aNegativeLengthIsRefused() {
        assertThrows(
                IllegalArgumentException.class,
                () -> new Undisturbed(LocalTime.NOON, LocalTime.NOON, ZoneOffset.UTC, -1));
    }
}
