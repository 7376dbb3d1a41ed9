package io.jenkins.plugins.preemptible.engine.host.check;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Whether this host can suspend stages, item by item.
 *
 * <ol>
 *   <li>Each item was tried, not only found.
 *   <li>{@code detail} says what was found.
 *   <li>{@code remedy} is the one command that provides what is missing; empty when nothing is.
 * </ol>
 */
public record HostReport(List<Item> items) {

    /** One thing that suspending needs. */
    public record Item(String name, boolean ok, String detail, String remedy) {}

    public HostReport {
        items = List.copyOf(items);
    }

    /** This report with another item in place of those of its name; it comes first, as the item to provide first. */
    public HostReport with(Item first) {
        return new HostReport(Stream.concat(
                        Stream.of(first),
                        items.stream().filter(item -> !item.name().equals(first.name())))
                .toList());
    }

    /** What is missing, each with what was found, such as {@code rights: user jenkins; criu: not found}. */
    public String missing() {
        return items.stream()
                .filter(item -> !item.ok())
                .map(item -> item.name() + ": " + item.detail())
                .collect(Collectors.joining("; "));
    }

    /** As {@link #missing}, each with its remedy. */
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
