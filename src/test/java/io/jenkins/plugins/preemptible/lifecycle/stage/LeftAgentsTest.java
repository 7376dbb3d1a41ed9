package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LeftAgentsTest {

    private final StageRecord stage = StageRecord.running(
            "preemptible-12345678", StageRecord.Form.OWN, "job#1", "preemptible", "A", "/w", null, 5, 0);

    @Test
    void anAgentIsLeftWhenTheStageIsElsewhere() {
        LeftAgents.holds("A", List.of("/w@tmp")).accept(stage);
        LeftAgents.holds("B", List.of("/w@tmp")).accept(stage);
        assertEquals(Map.of("B", List.of("/w@tmp")), LeftAgents.of(stage), "it may have come there");
        stage.restoringOn = "B";
        assertEquals(Map.of(), LeftAgents.of(stage), "it may run there");
        stage.restoringOn = null;
        stage.node = "B";
        assertEquals(Map.of("A", List.of("/w@tmp")), LeftAgents.of(stage));
        LeftAgents.cleaned("A").accept(stage);
        assertEquals(Map.of(), LeftAgents.of(stage));
        LeftAgents.cleaned("B").accept(stage);
        assertNull(stage.left);
    }

    /** Whatever is noted is ended when its host connects: the one that it runs on must never be. */
    @ParameterizedTest
    @CsvSource({
        // sealed on, left before, runs on, as its own agent; left then
        "a, '', b, false, 'a'",
        "a, '', a, true, ''",
        "a, '', a, false, ''",
        "b, a, a, false, 'b'",
        "a, a, b, false, 'a'",
        "c, a b, b, false, 'a c'",
        "a, '', '', false, 'a'",
        "a, '', '', true, ''",
        "'', a, a, true, ''"
    })
    void theHostThatItRunsOnIsNotLeft(String sealedOn, String before, String runsOn, boolean own, String after) {
        stage.luggage = StagesInMemory.luggage(sealedOn);
        stage.leftHosts = new ArrayList<>(words(before));
        LuggageChanges.leaves(stage, runsOn, own);
        assertEquals(words(after), stage.leftHosts());
    }

    /** What was asked and has not answered is left, as soon as it is given up or the stage runs elsewhere. */
    @ParameterizedTest
    @CsvSource({
        // asked, by host, then; left then
        "B, b, given up, b",
        "B, '', given up, ''",
        "B, b, C is asked, b",
        "B, b, runs, b",
        "A, a, runs, ''"
    })
    void theHostThatWasAskedIsLeft(String asked, String host, String then, String after) {
        stage.node = "A";
        StageChanges.restoringOn(asked, host).accept(stage);
        assertEquals(List.of(), stage.leftHosts());
        switch (then) {
            case "given up" -> StageChanges.askedInVain().accept(stage);
            case "C is asked" -> StageChanges.restoringOn("C", "c").accept(stage);
            default -> {
                Pretended.resume(stage);
                StageChanges.resumed(null, "", 0).accept(stage);
            }
        }
        assertEquals(words(after), stage.leftHosts());
        assertEquals("C is asked".equals(then) ? "C" : null, stage.restoringOn());
    }

    private static List<String> words(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(" "));
    }

    /** In the records of earlier versions there is none, and a published record never changes. */
    @Test
    void aCopyIsChanged() {
        StageRecord copy = stage.clone();
        LeftAgents.holds("B", List.of()).accept(copy);
        assertEquals(Map.of(), LeftAgents.of(stage));
        StageRecord again = copy.clone();
        LeftAgents.cleaned("B").accept(again);
        assertEquals(Map.of("B", List.of()), LeftAgents.of(copy));
    }

    /** Plain collections: no class's name is saved that might change. */
    @Test
    void itIsSavedAndReadAgain() {
        LeftAgents.holds("B", List.of("/w@tmp", "/w/sub@tmp")).accept(stage);
        String saved = StageFiles.XSTREAM.toXML(stage);
        String part = saved.substring(saved.indexOf("<left"), saved.indexOf("</left>"));
        assertFalse(part.contains("ImmutableCollections") || part.contains("CollSer"), part);
        StageRecord read = (StageRecord) StageFiles.XSTREAM.fromXML(saved);
        assertEquals(Map.of("B", List.of("/w@tmp", "/w/sub@tmp")), LeftAgents.of(read));
    }
}
