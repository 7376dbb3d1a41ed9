package io.jenkins.plugins.preemptible.manual;

import hudson.Extension;
import hudson.cli.CLICommand;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import jenkins.model.Jenkins;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Argument;
import org.kohsuke.args4j.Option;

/**
 * {@code preemptible-drain AGENT [--undo]}: drains an agent.
 *
 * <ol>
 *   <li>AGENT is its name; {@code (built-in)} is the built-in node.
 *   <li>{@code --undo} resumes what was suspended there, and lets others start.
 *   <li>Prints one sentence; does not wait until the agent is empty.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class DrainCommand extends CLICommand {

    @Argument(index = 0, metaVar = "AGENT", usage = "Name of the agent", required = true)
    private String agent;

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
    protected int run() {
        PreemptiblePermissions.checkManage();
        Computer computer = Jenkins.get().getComputer(agent);
        if (computer == null) {
            throw new IllegalArgumentException(Messages.DrainCommand_NoSuchAgent(agent));
        }
        return BuildCommand.tell(undo ? AgentVerbs.undrain(computer) : AgentVerbs.drain(computer), this);
    }
}
