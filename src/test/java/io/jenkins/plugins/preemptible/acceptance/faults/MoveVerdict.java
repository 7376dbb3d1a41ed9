package io.jenkins.plugins.preemptible.acceptance.faults;

import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * What became of a stage with moves.
 *
 * @param why empty where it is whole
 */
record MoveVerdict(Kind kind, String why) {

    enum Kind {
        /** The build is SUCCESS, its workspace and its output have all numbers. */
        WHOLE,
        /** Nothing was sealed when its processes ended, and the build's log says what was lost. */
        TOLD,
        /** A defect of the plugin. */
        LOST
    }

    private static final String FROM_CHECKPOINT = "Resumed from the checkpoint of ";

    /** The plugin's own sentences about a stage that is lost: what Pipeline says of its step does not count. */
    private static final List<String> SENTENCES = List.of(
            "The stage is lost, as a running one would be",
            "was removed while the stage was suspended",
            "The processes of this stage keep running on its host, where Jenkins cannot reach them",
            "no checkpoint of this stage is of use",
            "has lost this stage's processes");

    /**
     * @param result of the build
     * @param log its text
     * @param counted the numbers in the stage's workspace
     * @param lostAlong whether the fault may have ended the stage's processes while nothing was sealed
     * @param copiedAgain whether Jenkins may have copied lines of the log twice
     * @param incomplete whether the stage could not always write into its workspace
     */
    static MoveVerdict of(
            String result,
            String log,
            List<Integer> counted,
            boolean lostAlong,
            boolean copiedAgain,
            boolean incomplete) {
        if (!result.equals("SUCCESS")) {
            String said = SENTENCES.stream().filter(log::contains).findFirst().orElse(null);
            if (lostAlong && said != null) {
                return new MoveVerdict(Kind.TOLD, said);
            }
            return lost("the build is " + result
                    + (lostAlong ? ", and does not say what was lost" : said == null ? "" : ": " + said));
        }
        int last = counted.isEmpty() ? 0 : counted.get(counted.size() - 1);
        List<Integer> all = IntStream.rangeClosed(1, last).boxed().toList();
        boolean isWhole = incomplete ? new TreeSet<>(counted).size() == counted.size() : counted.equals(all);
        if (last == 0 || !isWhole) {
            return lost("the workspace has " + shown(counted));
        }
        List<Integer> console = BuildLog.counts(log);
        int told = log.split(FROM_CHECKPOINT, -1).length - 1;
        TreeSet<Integer> printed = new TreeSet<>(console);
        if (told > 0) {
            // It may end before it comes again to where it was when its host was lost.
            printed.tailSet(last, false).clear();
        }
        if (!List.copyOf(printed).equals(all)) {
            return lost("the log has " + shown(console) + ", the workspace " + last);
        }
        int returns = 0;
        for (int i = 1; i < console.size(); i++) {
            returns += console.get(i) <= console.get(i - 1) ? 1 : 0;
        }
        if (returns > told && !copiedAgain) {
            return lost("the log repeats numbers " + returns + " times, and tells of " + told + ": " + shown(console));
        }
        return new MoveVerdict(Kind.WHOLE, "");
    }

    static MoveVerdict lost(String why) {
        return new MoveVerdict(Kind.LOST, why);
    }

    /** Where the row does not go on. */
    private static String shown(List<Integer> numbers) {
        StringBuilder breaks = new StringBuilder(numbers.size() + " numbers");
        for (int i = 1; i < numbers.size(); i++) {
            if (numbers.get(i) != numbers.get(i - 1) + 1) {
                breaks.append(", ")
                        .append(numbers.get(i - 1))
                        .append(" before ")
                        .append(numbers.get(i));
            }
        }
        return breaks.toString();
    }
}
