package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.acceptance.faults.MoveVerdict.Kind;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class MoveVerdictTest {

    private static String log(Integer... numbers) {
        return Stream.of(numbers).map(number -> "count-" + number + "\n").collect(Collectors.joining());
    }

    private static List<Integer> to(int last) {
        return IntStream.rangeClosed(1, last).boxed().toList();
    }

    private static Kind success(String log, List<Integer> counted) {
        return MoveVerdict.of("SUCCESS", log, counted, false, false, false).kind();
    }

    @Test
    void eachNumberHasToBeThereOnce() {
        assertEquals(Kind.WHOLE, success(log(1, 2, 3), to(3)));
        assertEquals(Kind.LOST, success(log(1, 2), to(3)));
        assertEquals(Kind.LOST, success(log(1, 2, 3, 4), to(3)));
        assertEquals(Kind.LOST, success(log(1, 2, 3), List.of(1, 3)));
        assertEquals(Kind.LOST, success(log(1, 2, 3), List.of(1, 2, 2, 3)));
        assertEquals(Kind.LOST, success(log(1, 2, 2, 3), to(3)));
        assertEquals(Kind.LOST, success("", List.of()));
    }

    @Test
    void aLineOfTheStepMayHaveOneOfThePluginInIt() {
        String amid = log(1) + "co[preemptible] It is said.\n[preemptible] This, too.\nunt-2\n" + log(3);
        assertEquals(Kind.WHOLE, success(amid, to(3)));
        assertEquals(Kind.LOST, success(log(1) + "[preemptible] It is said.\nunt-2\n" + log(3), to(3)));
    }

    @Test
    void numbersRepeatOnlyWhereThatIsTold() {
        String told = log(1, 2, 3) + "[preemptible] Resumed from the checkpoint of 3 sec ago\n" + log(2, 3, 4);
        assertEquals(Kind.WHOLE, success(told, to(4)));
        assertEquals(Kind.LOST, success(told + log(3, 4), to(4)));
        assertEquals(
                Kind.WHOLE,
                success(log(1, 2, 3, 4, 5) + told.substring(log(1, 2, 3).length()), to(4)));
        assertEquals(
                Kind.LOST,
                success(log(1, 2, 3, 4, 5) + told.substring(log(1, 2, 3).length()), to(6)));
        assertEquals(
                Kind.WHOLE,
                MoveVerdict.of("SUCCESS", told + log(3, 4), to(4), false, true, false)
                        .kind());
    }

    @Test
    void aLostStageHasToSayWhatWasLost() {
        String said = "The stage is lost, as a running one would be: its processes were frozen";
        assertEquals(
                Kind.TOLD,
                MoveVerdict.of("FAILURE", said, to(3), true, false, false).kind());
        assertEquals(
                Kind.LOST,
                MoveVerdict.of(
                                "FAILURE",
                                "wrapper script does not seem to be touching the log file in /w@tmp/durable-1",
                                to(3),
                                true,
                                false,
                                false)
                        .kind(),
                "said by Pipeline alone");
        assertEquals(
                Kind.LOST,
                MoveVerdict.of("FAILURE", "script returned exit code -1", to(3), true, false, false)
                        .kind());
        assertEquals(
                Kind.LOST,
                MoveVerdict.of("FAILURE", said, to(3), false, false, false).kind());
    }
}
