package io.jenkins.plugins.preemptible.manual;

import hudson.Extension;
import hudson.model.Computer;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Option;

/**
 * {@code preemptible-drain AGENT [--undo]}: drains an agent.
 *
 * <ol>
 *   <li>{@code --undo} resumes what was suspended there, and lets others start.
 *   <li>Does not wait until the agent is empty.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class DrainCommand extends AgentCommand {

    @Option(name = "--undo", usage = "Let the agent work again")
    private boolean undo;

    @Override
    public String getName() {
        return "preemptible-drain";
    }

    @Override
    public String getShortDescription() {
        return Messages.DrainCommand_Description();
    }

    @Override
    Answer act(Computer computer) {
        return undo ? AgentVerbs.undrain(computer) : AgentVerbs.drain(computer);
    }
}
