package io.jenkins.plugins.preemptible.acceptance.faults;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * What is drawn for one round with moves.
 *
 * <p>Faults and moments are dealt like cards: all faults come once before one comes again, and for each fault so do its
 * moments. So 200 rounds have each often enough.
 *
 * @param number from 1
 * @param checkpointed whether the stage has checkpoints
 * @param manual whether someone suspends the stage, in place of a preemptor
 * @param targetFirst which of the two other agents the stage is to go to
 * @param onTarget at {@link MoveMoment#RESUMING}: a fault of agents concerns the new one, in place of the old one
 * @param comesBack whether a removed agent is added again while the stage is waited for
 * @param delayMillis after the moment: 0 to 100 for what passes within a second, else 0 to 1500
 * @param lastsMillis how long the fault stays
 * @param releaseMillis after the fault, until the preemptor ends or someone resumes the stage
 */
record MoveRound(
        int number,
        MoveFault fault,
        MoveMoment moment,
        boolean checkpointed,
        boolean manual,
        boolean targetFirst,
        boolean onTarget,
        boolean comesBack,
        long delayMillis,
        long lastsMillis,
        long releaseMillis) {

    /** The same for the same seed and number. */
    static MoveRound of(long seed, int number) {
        int faults = MoveFault.values().length;
        int deal = (number - 1) / faults;
        MoveFault fault = dealt(List.of(MoveFault.values()), seed * 31 + deal).get((number - 1) % faults);
        int moments = fault.moments().size();
        long momentsSeed = seed * 1_000_003 + fault.ordinal() * 101L + deal / moments;
        MoveMoment moment = dealt(fault.moments(), momentsSeed).get(deal % moments);
        Random random = new Random(seed * 7_368_787 + number);
        random.nextLong();
        return new MoveRound(
                number,
                fault,
                moment,
                moment.needsCheckpoint() || random.nextInt(moment == MoveMoment.MOVED ? 2 : 4) == 0,
                random.nextBoolean(),
                random.nextBoolean(),
                fault.ofTarget() || random.nextBoolean(),
                random.nextBoolean(),
                logarithmic(random, 1, delay(fault, moment)) - 1,
                lasts(fault, random),
                logarithmic(random, 1, 3000) - 1);
    }

    private static <T> List<T> dealt(List<T> cards, long seed) {
        List<T> dealt = new ArrayList<>(cards);
        Collections.shuffle(dealt, new Random(seed));
        return dealt;
    }

    /** A restore takes about a second: its phases are all to be hit. */
    private static int delay(MoveFault fault, MoveMoment moment) {
        return fault.ofTarget() ? 800 : moment.passesSoon() ? 100 : 1500;
    }

    private static long lasts(MoveFault fault, Random random) {
        return switch (fault) {
            case LINK_CUT_LONG -> logarithmic(random, 17_000, 22_000);
            case AGENT_STOPPED -> logarithmic(random, 500, 12_000);
            case HOST_REBOOTED -> logarithmic(random, 500, 10_000);
            default -> logarithmic(random, 500, 4_000);
        };
    }

    private static long logarithmic(Random random, long least, long most) {
        return Math.round(least * Math.pow((double) most / least, random.nextDouble()));
    }

    String job() {
        return checkpointed ? MoveJobs.CHECKPOINTED : MoveJobs.PLAIN;
    }

    @Override
    public String toString() {
        return "round " + number + ": " + fault
                + (moment == MoveMoment.RESUMING ? onTarget ? " on the new agent" : " on the old agent" : "") + " for "
                + lastsMillis + " ms, " + delayMillis + " ms after " + moment + ", " + job() + " stage, "
                + (manual ? "manual" : "with a preemptor") + (comesBack ? ", back" : "");
    }
}
