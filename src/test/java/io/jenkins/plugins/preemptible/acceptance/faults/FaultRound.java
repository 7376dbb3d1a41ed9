package io.jenkins.plugins.preemptible.acceptance.faults;

import java.util.Random;

/**
 * What is drawn for one round.
 *
 * @param number from 1
 * @param nested for each of the two agents, whether its stage is the form inside of {@code node}
 * @param agent 0 or 1: whose stage is waited for, and which agent is concerned
 * @param delayMillis 0 to 3000, after the moment; most are short, since most transitions are
 * @param lastsMillis how long the fault stays: 1 to 400 s for the network, up to 20 s for the others, most are short
 * @param preemptorSeconds 1 to 30
 */
record FaultRound(
        int number, Fault fault, Moment moment, boolean[] nested, int agent, long delayMillis, long lastsMillis, int preemptorSeconds) {

    /** The same for the same seed and number. */
    static FaultRound of(long seed, int number) {
        Random random = new Random(seed * 1_000_003 + number);
        random.nextLong();
        Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
        boolean cut = fault == Fault.NETWORK_CUT || fault == Fault.CONNECTION_CLOSED;
        return new FaultRound(
                number,
                fault,
                Moment.values()[random.nextInt(Moment.values().length)],
                new boolean[] {random.nextBoolean(), random.nextBoolean()},
                random.nextInt(2),
                logarithmic(random, 1, 3000) - 1,
                logarithmic(random, 1000, cut ? 400_000 : 20_000),
                (int) logarithmic(random, 1, 30));
    }

    private static long logarithmic(Random random, long least, long most) {
        return Math.round(least * Math.pow((double) most / least, random.nextDouble()));
    }

    @Override
    public String toString() {
        return "round " + number + ": " + fault + " for " + lastsMillis + " ms, " + delayMillis + " ms after " + moment + " on "
                + FaultRig.AGENTS.get(agent) + ", forms " + form(0) + " and " + form(1) + ", preemptors of "
                + preemptorSeconds + " s";
    }

    String form(int which) {
        return nested[which] ? "nested" : "own";
    }
}
