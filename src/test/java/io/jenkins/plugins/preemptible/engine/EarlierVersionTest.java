package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stages that an earlier version has suspended: its records are the texts that it wrote, but for names and places. */
@Tag("host")
class EarlierVersionTest {

    private static final Duration SOON = Duration.ofMinutes(1);
    /** The lower byte of two: docs/image-format.md. */
    private static final int FORMAT_VERSION_AT = 9;

    /** The second one has only what the very first records had. */
    @ParameterizedTest
    @ValueSource(strings = {"earlier-stage.json", "first-stage.json"})
    void aStageGoesOnFromItsImageWithTheRecordOfThatTime(String fixture) throws Exception {
        try (StageBench bench = StageBench.openForArchives()) {
            StageId id = bench.script("i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i; sleep 0.05; done")
                    .id();
            StageBench.until(
                    "it counts",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 2);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            StageFolder folder =
                    new StageFolder(bench.folder.resolve("home/stages").resolve(id.value()));
            StageJson today = folder.read().orElseThrow();
            String text;
            try (InputStream in = EarlierVersionTest.class.getResourceAsStream(fixture)) {
                text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
            Files.writeString(
                    folder.path().resolve("stage.json"),
                    text.replace("STAGE_ID", id.value())
                            .replace("WORK_DIR", bench.work.toString())
                            .replace("STAGE_FOLDER", folder.path().toString())
                            .replace("CREATED_AT", today.image().createdAt())
                            .replace(
                                    "ARCHIVE_STAMP",
                                    today.image().archiveStamp().toString())
                            .replace("ARCHIVE", bench.archive(id).toString()));
            StageJson earlier = folder.read().orElseThrow();
            assertEquals(today.id(), earlier.id());
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            assertEquals(1, bench.engine.status(id).suspensions());
            long before = StageBench.lines(folder.output());
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            StageBench.until("it counts on", SOON, () -> StageBench.lines(folder.output()) > before + 2);
            Files.createFile(bench.work.resolve("enough"));
            assertEquals(0, bench.engine.await(id));
            assertEquals("1", Files.readAllLines(folder.output()).get(0), "in memory only, hence not begun anew");
        }
    }

    /** The first format of archives is read no more: its stage is refused in words and stays suspended. */
    @Test
    void anArchiveOfTheFirstFormatIsRefusedInWords() throws Exception {
        try (StageBench bench = StageBench.openForArchives()) {
            StageId id =
                    bench.script("until [ -e enough ]; do sleep 0.05; done").id();
            bench.engine.suspend(id, bench.archive(id), bench.key);
            byte[] today = Files.readAllBytes(bench.archive(id));
            byte[] first = today.clone();
            first[FORMAT_VERSION_AT] = 1;
            Files.write(bench.archive(id), first);
            ResumeFailedException refused =
                    assertThrows(ResumeFailedException.class, () -> bench.engine.resume(bench.archive(id), bench.key));
            assertEquals(FailureReason.IMAGE_UNUSABLE, refused.reason());
            assertTrue(
                    refused.getMessage()
                            .contains("another format version (it has 1, known is 2); read it with the version"),
                    refused::getMessage);
            assertEquals(State.SUSPENDED, bench.engine.status(id).state());
            Files.write(bench.archive(id), today);
            assertEquals(
                    Tier.ARCHIVE,
                    bench.engine.resume(bench.archive(id), bench.key).tier());
            Files.createFile(bench.work.resolve("enough"));
            assertEquals(0, bench.engine.await(id));
        }
    }
}
