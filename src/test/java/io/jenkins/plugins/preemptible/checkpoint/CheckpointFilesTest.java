package io.jenkins.plugins.preemptible.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class CheckpointFilesTest {

    /** Of a stage that could not be restored one of them is its image, and may refer to another. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theyGoWithTheStageUnlessItsImageIsKept(boolean kept, JenkinsRule j) throws Exception {
        FreeStyleProject job = j.createFreeStyleProject("job");
        FreeStyleBuild build = j.buildAndAssertSuccess(job);
        StageRecord stage = StageRecord.running(
                "preemptible-12345678",
                StageRecord.Form.OWN,
                build.getExternalizableId(),
                "stage",
                "A",
                "/w",
                null,
                5,
                0);
        Path image = build.getArtifactsDir().toPath().resolve(ImagePath.of(stage.id(), CheckpointFiles.image(1)));
        Files.createDirectories(image.getParent());
        Files.writeString(image, "sealed");
        StageListener.fire(listener -> listener.onEnded(new StageEnded(stage.ref(), 1, true, kept)));
        assertEquals(kept, Files.exists(image));
    }
}
