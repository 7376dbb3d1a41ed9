package io.jenkins.plugins.preemptible.engine.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.jenkins.plugins.preemptible.engine.cli.simulate.MarkedSection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The options of 'preempt simulate', and that its results are told; the figures have their own tests. */
class SimulateCommandTest {

    private static final String JOB =
            "{\"queued\":0,\"started\":0,\"ended\":3600000,\"priority\":5,\"label\":\"linux\"}\n"
                    + "{\"queued\":60000,\"started\":3600000,\"ended\":3660000,\"priority\":1,\"label\":\"linux\"}\n";

    @TempDir
    Path folder;

    private CommandLineCall call(String... args) {
        return CommandLineCall.of(folder.resolve("home"), args);
    }

    @ParameterizedTest
    @CsvSource({
        "--load,0,load",
        "--load,2.5,load",
        "--load,NaN,load",
        "--load,much,--load",
        "--jobs,0,number of jobs",
        "--long-share,1.5,share",
        "--long-factor,0.5,factor",
        "--memory,-1,memory",
        "--undumpable-share,1.5,share",
        "--longest-frozen,29,--longest-frozen",
        "--frozen-share,101,--frozen-share",
        "--agents,0,--agents",
        "--executors,0,--executors",
        "--executors,2000,20000",
        "--agent-memory,-1,--agent-memory",
        "--slice,-1,--slice",
        "--exempt,86401,--exempt",
        "--most-suspensions,-1,--most-suspensions",
        "--ageing,10081,--ageing",
        "--dump-rate,0,--dump-rate",
        "--restore-rate,0,--restore-rate",
        "--takeover,-1,--takeover",
        "--agent,linux,--agent",
        "--agent,linux=0,0 executors",
        "--seeds,3,--sweep"
    })
    void whatIsOutOfItsRangeIsRefused(String option, String value, String named) {
        call("simulate", option + "=" + value).refuses(named);
    }

    @Test
    void optionsThatDoNotGoTogetherAreRefused() throws Exception {
        Path history = Files.writeString(folder.resolve("history.jsonl"), JOB);
        call("simulate", "--history", history.toString(), "--load", "0.5").refuses("--load");
        call("simulate", "--sweep", "--load", "0.5").refuses("--load");
        call("simulate", "--sweep", "--seeds", "0").refuses("--seeds");
        call("simulate", "--agent", "a=1", "--agents", "2").refuses("--agents");
        call("simulate", "--agent", "a=1", "--agent", "a=2").refuses("a");
    }

    @Test
    void theSameSeedPrintsTheSame() {
        String first =
                call("simulate", "--jobs", "200", "--agents", "2").exits(0).out();
        assertEquals(
                first,
                call("simulate", "--jobs", "200", "--agents", "2").exits(0).out());
        for (String each :
                List.of("first come, first served", "priority order only", "kill and requeue", "suspend (ours)")) {
            assertTrue(first.contains("short, " + each), first);
        }
        assertFalse(Files.exists(folder.resolve("home")));
    }

    @Test
    void aHistoryIsReplayedAsJsonAndDrawn() throws Exception {
        Path history = Files.writeString(folder.resolve("history.jsonl"), JOB);
        JsonNode json = call("simulate", "--json", "--history", history.toString(), "--plots", folder + "/plots")
                .exits(0)
                .json();
        assertEquals(2, json.get("jobs").asInt());
        assertEquals(4, json.get("figures").size());
        assertEquals(3_540, json.at("/recorded/0/p95_seconds").asDouble());
        assertEquals(1, json.at("/figures/3/waits/0/p95_seconds").asDouble());
        assertTrue(json.at("/figures/3").has("wasted_hours"));
        assertTrue(Files.readString(folder.resolve("plots/simulation-priority-1.svg"))
                .contains("<svg"));
    }

    @Test
    void aBrokenHistoryIsRefusedWithTheLine() throws Exception {
        Path history = Files.writeString(folder.resolve("history.jsonl"), JOB + "{\"queued\":7}\n");
        call("simulate", "--history", history.toString())
                .refuses("history.jsonl", "line 3", "'started' is missing", "nothing of it was taken");
        call("simulate", "--history", "nowhere.jsonl").refuses("nowhere.jsonl", "check the path");
        call("simulate", "--history", folder.toString()).refuses(folder.toString());
        Path good = Files.writeString(folder.resolve("good.jsonl"), JOB);
        call("simulate", "--history", good.toString(), "--agent", "mac-1=2:mac").refuses("linux");
    }

    @Test
    void figuresGoBetweenTheMarksOfAPageAndNowhereElse() throws Exception {
        Path page = Files.writeString(folder.resolve("page.md"), "# Mine\n");
        call("simulate", "--write-docs", page.toString()).refuses("page.md", MarkedSection.begin("simulate"));
        assertEquals("# Mine\n", Files.readString(page));
        Files.writeString(
                page,
                "before\n" + MarkedSection.begin("simulate") + "\nold\n" + MarkedSection.end("simulate") + "\nafter\n");
        call("simulate", "--write-docs", page.toString(), "--jobs", "60", "--seeds", "2", "--agents", "2")
                .exits(0);
        List<String> lines = Files.readAllLines(page);
        assertEquals("before", lines.get(0));
        assertEquals("after", lines.get(lines.size() - 1));
        assertFalse(lines.contains("old"));
        assertTrue(lines.stream().anyMatch(line -> line.startsWith("| 95 %, suspend (ours) |")), lines.toString());
        assertTrue(Files.exists(folder.resolve("plots/simulation-load-wait.svg")));
    }
}
