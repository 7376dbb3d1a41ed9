package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.PacketFilter;
import java.util.Collection;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Keeps the kernel silent on TCP connections both ends of which CRIU dumps or restores, one after the other.
 *
 * <ol>
 *   <li>The kernel sends for frozen processes, too: what is in a send queue could arrive at an end that was dumped
 *       already, and would be in neither image.
 *   <li>At a restore the end that is there first would be answered by a reset, since the other one is not there yet.
 *   <li>Only packets between these very addresses and ports are dropped; the kernel sends them again afterwards. What
 *       CRIU itself sends has its mark and passes.
 * </ol>
 *
 * CRIU's own lock ({@code --network-lock nftables}) is not used: a CRIU that is killed leaves it behind, and one of a
 * dump that leaves the tree running is gone at the restore. Source: CRIU 4.2.1, {@code criu/netfilter.c}.
 */
final class ConnectionLock implements AutoCloseable {

    /** {@code SOCCR_MARK} of {@code soccr/soccr.h}. */
    private static final String MARK = "0xC114";

    private final Optional<PacketFilter> filter;

    private ConnectionLock(Optional<PacketFilter> filter) {
        this.filter = filter;
    }

    /** @param connections none of them: nothing is locked; where nothing can be locked, see {@link #holds} */
    static ConnectionLock of(Collection<TcpEnds> connections) {
        return new ConnectionLock(
                connections.isEmpty() ? Optional.empty() : PacketFilter.of(table -> rules(table, connections)));
    }

    boolean holds() {
        return filter.isPresent();
    }

    static String rules(String table, Collection<TcpEnds> connections) {
        StringBuilder rules = new StringBuilder();
        // Both ends are on this host, so each packet leaves it first.
        rules.append("add chain ").append(table).append(" output { type filter hook output priority 0; }\n");
        rules.append("add rule ")
                .append(table)
                .append(" output meta mark ")
                .append(MARK)
                .append(" accept\n");
        for (boolean six : new boolean[] {false, true}) {
            String addresses = six ? "ipv6_addr" : "ipv4_addr";
            String family = six ? "ip6" : "ip";
            String set = family + "connections";
            rules.append(String.format(
                    "add set %s %s { type %s . inet_service . %s . inet_service; }%n",
                    table, set, addresses, addresses));
            rules.append(String.format(
                    "add rule %s output %s saddr . tcp sport . %s daddr . tcp dport @%s drop%n",
                    table, family, family, set));
            TreeSet<String> elements = new TreeSet<>();
            connections.stream().filter(c -> c.six() == six).forEach(c -> {
                elements.add(c.words());
                elements.add(c.reversed().words());
            });
            if (!elements.isEmpty()) {
                rules.append(String.format("add element %s %s { %s }%n", table, set, String.join(", ", elements)));
            }
        }
        return rules.toString();
    }

    @Override
    public void close() {
        filter.ifPresent(PacketFilter::close);
    }
}
