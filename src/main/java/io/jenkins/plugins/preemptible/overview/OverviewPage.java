package io.jenkins.plugins.preemptible.overview;

import java.util.ArrayList;
import java.util.List;
import jenkins.model.Jenkins;

/** What the pages below {@code preemptible/} share: the links between them. */
public abstract class OverviewPage {

    /** @param current whether it is the one that is shown */
    public record Tab(String title, String href, boolean current) {}

    /** The last part of its address. */
    abstract String id();

    public final List<Tab> getTabs() {
        List<Tab> tabs = new ArrayList<>();
        for (Lists list : Lists.values()) {
            tabs.add(tab(list.id(), Messages.ListPage_Tab(list.title(), total(list))));
        }
        tabs.add(tab(StatisticsPage.ID, Messages.ListPage_Statistics()));
        if (Jenkins.get().hasPermission(Jenkins.ADMINISTER)) {
            tabs.add(tab(SimulationPage.ID, Messages.ListPage_Simulation()));
        }
        return tabs;
    }

    /** How many rows of a list the looking user may see. */
    int total(Lists list) {
        return list.total();
    }

    private Tab tab(String id, String title) {
        return new Tab(title, PreemptibleRootAction.URL + "/" + id, id.equals(id()));
    }
}
