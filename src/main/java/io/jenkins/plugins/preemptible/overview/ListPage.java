package io.jenkins.plugins.preemptible.overview;

import java.util.Arrays;
import java.util.List;
import org.kohsuke.stapler.Stapler;

/** One list as a page: {@code preemptible/suspended} and the others. Made for each request. */
public final class ListPage {

    /** @param current whether it is the one that is shown */
    public record Tab(String title, String href, boolean current) {}

    private final Lists list;
    private final Listing listing;

    ListPage(Lists list) {
        this.list = list;
        this.listing = list.listing(Stapler.getCurrentRequest2());
    }

    public String getTitle() {
        return list.title();
    }

    public Listing getListing() {
        return listing;
    }

    /** Said in place of an empty list. */
    public String getNothing() {
        return switch (list) {
            case SUSPENDED -> Messages.ListPage_NoSuspended();
            case RUNNING -> Messages.ListPage_NoRunning();
            case WAITING -> Messages.ListPage_NoWaiting();
            case AGENTS -> Messages.ListPage_NoAgents();
        };
    }

    public List<Tab> getTabs() {
        return tabs(list.id());
    }

    /** @param current id of what is shown */
    static List<Tab> tabs(String current) {
        List<Tab> tabs = new java.util.ArrayList<>(Arrays.stream(Lists.values())
                .map(one -> new Tab(
                        Messages.ListPage_Tab(one.title(), one.total()),
                        PreemptibleRootAction.URL + "/" + one.id(),
                        one.id().equals(current)))
                .toList());
        tabs.add(new Tab(
                Messages.ListPage_Statistics(),
                PreemptibleRootAction.URL + "/" + StatisticsPage.ID,
                StatisticsPage.ID.equals(current)));
        return tabs;
    }
}
