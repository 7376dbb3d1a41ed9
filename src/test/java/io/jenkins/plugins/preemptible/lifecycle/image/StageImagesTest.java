package io.jenkins.plugins.preemptible.lifecycle.image;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.FilePath;
import hudson.model.FreeStyleBuild;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Images among the artifacts of a build, also of versions that called them image.preempt. */
@WithJenkins
class StageImagesTest {

    private static final String BEFORE = "image.preempt";

    @Test
    void anImageIsFoundAndRemovedUnderTheNameThatItWasArchivedBy(JenkinsRule j, @TempDir Path exchange)
            throws Exception {
        FreeStyleBuild build = j.buildAndAssertSuccess(j.createFreeStyleProject());
        StageRecord now = Pretended.sealed(record(build, "now-1a2b3c4d"));
        StageRecord before = record(build, "before-1a2b3c4d");
        Path images = build.getArtifactsDir().toPath().resolve("preemptible");
        Path nowsImage = Files.createDirectories(images.resolve(now.id())).resolve(ImagePath.FILE);
        Path beforesImage = Files.createDirectories(images.resolve(before.id())).resolve(BEFORE);
        Files.writeString(nowsImage, "new");
        Files.writeString(beforesImage, "old");

        assertEquals("preemptible/now-1a2b3c4d/suspended-stage.preempt", ImagePath.of(now));
        assertEquals("new", fetched(build, now, exchange));
        assertEquals("old", fetched(build, before, exchange));

        assertTrue(StageImages.delete(build, before.id()));
        assertFalse(Files.exists(beforesImage.getParent()));
        assertTrue(Files.exists(nowsImage), "another stage's");
        assertThrows(ImageGoneException.class, () -> fetched(build, before, exchange));
        assertTrue(StageImages.delete(build, now.id()));
        assertFalse(Files.exists(images));
    }

    private static StageRecord record(FreeStyleBuild build, String id) {
        return Pretended.withId(Pretended.suspendedFor(build.getExternalizableId(), null, null, "Because."), id);
    }

    /** What the engine finds on the agent. */
    private static String fetched(FreeStyleBuild build, StageRecord stage, Path exchange) throws Exception {
        StageImages.fetch(build, stage, new FilePath(exchange.toFile()));
        return Files.readString(exchange.resolve(BEFORE));
    }
}
