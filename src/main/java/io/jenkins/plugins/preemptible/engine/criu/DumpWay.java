package io.jenkins.plugins.preemptible.engine.criu;

/**
 * How criu makes a dump.
 *
 * @param withoutMemory whether it leaves out the anonymous, private memory of the processes: the pagemaps name it as lazy, and
 *     the pages files do not have it. Such an image cannot be restored before somebody else adds it. Needs Perl
 * @param gate at which it waits once it has started; null when it does not wait
 * @param idle whether it may take long, since another build uses the executor
 */
public record DumpWay(boolean withoutMemory, CriuGate gate, boolean idle) {

    /** With all memory. */
    public static DumpWay usual(boolean idle) {
        return new DumpWay(false, null, idle);
    }
}
