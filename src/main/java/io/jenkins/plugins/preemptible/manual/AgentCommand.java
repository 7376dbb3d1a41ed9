package io.jenkins.plugins.preemptible.manual;

import hudson.cli.CLICommand;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import jenkins.model.Jenkins;
import org.kohsuke.args4j.Argument;

/**
 * A command about one agent.
 *
 * <ol>
 *   <li>AGENT is its name; {@code (built-in)} is the built-in node.
 *   <li>{@link #act} does it, and checks the permission.
 *   <li>Prints the sentence; exits as {@link BuildCommand} does.
 * </ol>
 */
abstract class AgentCommand extends CLICommand {

    @Argument(index = 0, metaVar = "AGENT", usage = "Name of the agent", required = true)
    private String agent;

    abstract Answer act(Computer computer);

    @Override
    protected int run() {
        // Who may drain no agent learns of none.
        PreemptiblePermissions.checkManage();
        Computer computer = Jenkins.get().getComputer(agent);
        if (computer == null) {
            throw new IllegalArgumentException(Messages.AgentCommand_NoSuchAgent(Answer.echoed(agent)));
        }
        return BuildCommand.tell(act(computer), this);
    }
}
