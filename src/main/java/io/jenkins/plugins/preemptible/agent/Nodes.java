package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Node;
import jenkins.model.Jenkins;

/** Finds agents by the names that records of stages keep. Any thread; in memory only. */
public final class Nodes {

    private Nodes() {}

    /** The node of that name, the empty one being the built-in node's; null when there is none. */
    @CheckForNull
    public static Node named(String name) {
        Jenkins jenkins = Jenkins.get();
        return name.isEmpty() ? jenkins : jenkins.getNode(name);
    }

    /**
     * The root folder of the node of that name; null when there is no such node, or it has no connection. One that is only marked
     * offline answers as any other.
     */
    @CheckForNull
    public static FilePath rootOf(String name) {
        Node found = named(name);
        Computer computer = found == null ? null : found.toComputer();
        return computer == null || computer.getChannel() == null ? null : found.getRootPath();
    }
}
