package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Run;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Argument;
import org.kohsuke.args4j.Option;

/**
 * {@code preemptible-move JOB BUILD [STAGE] --to AGENT}: resumes stages on another agent; those that run are suspended before.
 *
 * <ol>
 *   <li>Without STAGE all of the build's stages are meant; with it those of that name or id.
 *   <li>Does not wait for an executor.
 *   <li>Prints what became of each.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class MoveCommand extends BuildCommand {

    @CheckForNull
    @Argument(index = 2, metaVar = "STAGE", usage = "Name or id of the stage; all of the build when left out")
    private String stage;

    @Option(name = "--to", metaVar = "AGENT", usage = "Name of the agent", required = true)
    private String agent;

    @Override
    public String getName() {
        return "preemptible-move";
    }

    @Override
    public String getShortDescription() {
        return Messages.MoveCommand_Description();
    }

    @Override
    Answer act(Run<?, ?> run) {
        return StageVerbs.move(run, stage, agent);
    }
}
