package io.jenkins.plugins.preemptible.engine.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CountedWorkTest {

    @TempDir
    Path folder;

    static Stream<Arguments> numbers() {
        return Stream.of(
                Arguments.of(List.of(1, 2, 3, 4), 0),
                Arguments.of(List.of(1, 2, 4), 1),
                Arguments.of(List.of(1, 2, 2, 3, 4), 1),
                Arguments.of(List.of(1, 2, 3), 1),
                Arguments.of(List.of(1, 2, 1, 2, 3, 4), 2),
                Arguments.of(List.of(), 4));
    }

    @ParameterizedTest
    @MethodSource("numbers")
    void gapsRepetitionsAndAMissingEndAreLostWork(List<Integer> numbers, int lost) {
        assertEquals(lost, CountedWork.discontinuity(numbers, 4));
    }

    @Test
    void theLongStagesOwnScriptLosesNothingWhenItIsUndisturbed() throws Exception {
        CountedWork work = new CountedWork(folder);
        List<String> command = new java.util.ArrayList<>(work.longCommand());
        command.set(command.size() - 1, "0");
        assertEquals(work.stepsInAll(), work.workLost());
        assertFalse(work.isInMidWork());
        int exit = new ProcessBuilder(command).inheritIO().start().waitFor();
        assertEquals(0, exit);
        assertEquals(0, work.workLost());
        assertEquals(work.stepsInAll(), work.stepsDone());
        assertTrue(work.isMemoryTheSame());
        assertTrue(work.isInMidWork());
    }

    @Test
    void aCounterThatBeganAnewIsSeenInTheFiles() throws Exception {
        CountedWork work = new CountedWork(folder);
        int each = work.stepsInAll() / CountedWork.COUNTERS;
        List<String> whole =
                IntStream.rangeClosed(1, each).mapToObj(Integer::toString).toList();
        for (int counter = 1; counter <= CountedWork.COUNTERS; counter++) {
            Files.write(folder.resolve("counter-" + counter), whole);
        }
        assertEquals(0, work.workLost());
        List<String> twice = new java.util.ArrayList<>(whole.subList(0, 5));
        twice.addAll(whole);
        Files.write(folder.resolve("counter-2"), twice);
        assertEquals(5, work.workLost());
    }
}
