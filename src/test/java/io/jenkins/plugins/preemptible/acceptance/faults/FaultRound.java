package io.jenkins.plugins.preemptible.acceptance.faults;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * What is drawn for one round.
 *
 * @param number from 1
 * @param nested for each of the two agents, whether its stage is the form inside of {@code node}
 * @param agent 0 or 1: whose stage is waited for, and which agent is concerned
 * @param delayMillis after the moment; most are short, since most transitions are: 0 to 100 for what passes within a
 *     second, else 0 to 3000
 * @param lastsMillis how long the fault stays: 1 to 20 s, and of one network's fault in ten 20 to 400 s
 * @param preemptorSeconds 1 to 30, from 8 where an image has to be made before the moment
 * @param imageFirst the agents count as short of memory: a stage keeps its executor until its image is safe. In one round of
 *     four
 */
record FaultRound(
        int number,
        Fault fault,
        Moment moment,
        boolean[] nested,
        int agent,
        long delayMillis,
        long lastsMillis,
        int preemptorSeconds,
        boolean imageFirst) {

    /** What passes within a second is drawn more often, since it is missed more often. */
    private static final List<Moment> MOMENTS = Stream.concat(
                    Stream.of(Moment.values()),
                    Stream.of(Moment.SUSPENDING, Moment.SUSPENDING, Moment.FROZEN, Moment.RESUMING, Moment.RESUMING))
            .toList();

    private static final List<Moment> BEFORE_CRIU = List.of(Moment.SUSPENDING, Moment.FROZEN, Moment.SEALED);

    /** The same for the same seed and number. */
    static FaultRound of(long seed, int number) {
        Random random = new Random(seed * 1_000_003 + number);
        random.nextLong();
        Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
        boolean cut = fault == Fault.NETWORK_CUT || fault == Fault.CONNECTION_CLOSED;
        boolean isLong = cut && random.nextInt(10) == 0;
        List<Moment> moments = fault == Fault.CRIU_KILLED ? BEFORE_CRIU : MOMENTS;
        Moment moment = moments.get(random.nextInt(moments.size()));
        return new FaultRound(
                number,
                fault,
                moment,
                new boolean[] {random.nextBoolean(), random.nextBoolean()},
                random.nextInt(2),
                logarithmic(random, 1, moment.passesSoon() ? 100 : 3000) - 1,
                isLong ? logarithmic(random, 20_000, 400_000) : logarithmic(random, 1000, 20_000),
                (int) logarithmic(random, moment == Moment.SEALED || fault == Fault.CRIU_KILLED ? 8 : 1, 30),
                random.nextInt(4) == 0);
    }

    private static long logarithmic(Random random, long least, long most) {
        return Math.round(least * Math.pow((double) most / least, random.nextDouble()));
    }

    @Override
    public String toString() {
        return "round " + number + ": " + fault + " for " + lastsMillis + " ms, " + delayMillis + " ms after " + moment
                + " on "
                + FaultRig.AGENTS.get(agent) + ", forms " + form(0) + " and " + form(1) + ", preemptors of "
                + preemptorSeconds + " s" + (imageFirst ? ", image first" : "");
    }

    String form(int which) {
        return nested[which] ? "nested" : "own";
    }
}
