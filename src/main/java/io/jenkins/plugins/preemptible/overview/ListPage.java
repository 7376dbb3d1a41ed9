package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.manual.KeptAnswer;
import io.jenkins.plugins.preemptible.overview.parts.Listing;
import org.kohsuke.stapler.Stapler;

/** One list as a page: {@code preemptible/suspended} and the others. Made for each request. */
public final class ListPage extends OverviewPage {

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

    /** What the looking browser's last request was answered, once. */
    @CheckForNull
    public KeptAnswer takeAnswer() {
        return KeptAnswer.take(Stapler.getCurrentRequest2(), list.page());
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

    /** What is shown has been read already. */
    @Override
    int total(Lists one) {
        return one == list ? listing.getTotal() : super.total(one);
    }

    @Override
    String id() {
        return list.id();
    }
}
