package io.jenkins.plugins.preemptible.engine.host.check;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Whether this host can suspend stages, thing by thing.
 *
 * <ol>
 *   <li>Each item was tried, not only looked up.
 *   <li>{@code detail} says what was found.
 *   <li>{@code remedy} is the one command that mends a missing thing, empty when nothing is missing.
 * </ol>
 */
public record HostReport(List<Item> items) {

    /** One thing that suspending needs. */
    public record Item(String name, boolean ok, String detail, String remedy) {}

    public HostReport {
        items = List.copyOf(items);
    }

    /** What is missing, each with what was found, such as {@code rights: user jenkins; criu: not found}. */
    public String missing() {
        return items.stream()
                .filter(item -> !item.ok())
                .map(item -> item.name() + ": " + item.detail())
                .collect(Collectors.joining("; "));
    }

    /** The same, each with the command that mends it. */
    public String missingWithRemedies() {
        return items.stream()
                .filter(item -> !item.ok())
                .map(item -> item.name() + ": " + item.detail()
                        + (item.remedy().isBlank() ? "" : " (remedy: " + item.remedy() + ")"))
                .collect(Collectors.joining("; "));
    }

    /** Whether nothing is missing. */
    public boolean ok() {
        return items.stream().allMatch(Item::ok);
    }
}
